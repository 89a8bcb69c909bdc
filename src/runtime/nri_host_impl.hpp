#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "net/ttrpc_peer.hpp"
#include "runtime/nri_host.hpp"
#include "runtime/nri_requests.hpp"

namespace koordlet::runtime {

inline constexpr const char* kNriPlugin = "nri.pkg.api.v1alpha1.Plugin";    ///< a plugin's service
inline constexpr const char* kNriRuntime = "nri.pkg.api.v1alpha1.Runtime";  ///< a runtime's service

/// One connection of a plugin.
struct NriHost::Session {
  explicit Session(const boost::asio::any_io_executor& ex)
      : wake{ex, boost::asio::steady_timer::time_point::max()} {}
  /// What happened before the plugin could be told.
  struct Later {
    std::optional<HookEvent> event;  ///< nullopt: made unasked
    HookPod pod;
    std::optional<HookContainer> container;
  };
  bool is_open() const { return peer && !peer->failure(); }

  boost::asio::steady_timer wake;  ///< cancelled when something is another one
  std::unique_ptr<net::TtrpcPeer> peer{};
  std::optional<NriRegistration> plugin{};
  std::uint32_t events = 0;
  bool ready = false;
  std::uint64_t number = 0;
  std::vector<Later> later{};
};

}  // namespace koordlet::runtime
