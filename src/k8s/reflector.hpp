#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>

#include "base/clock.hpp"
#include "k8s/api_client.hpp"

namespace koordlet::k8s {

/// Follows one resource: LIST in pages through a streaming parser, then WATCH with bookmarks,
/// resumed by resourceVersion; 410 (in the stream or on LIST) and "too large resource version" lead
/// to a fresh LIST; every other fault to a new attempt after a back-off with jitter (see
/// reflector_core.hpp). Events that come twice or out of order are dropped. Must outlive run().
class Reflector {
 public:
  struct Resource {
    std::string name;            ///< for messages and status: "pods"
    std::string path;            ///< "/api/v1/pods"
    std::string field_selector;  ///< "spec.nodeName=n1"
  };
  enum class Event { kAdded, kModified, kDeleted };
  /// Called on the loop. Objects are handed over whole and may be taken apart.
  struct Sink {
    /// One object of a list that is being read; nothing counts before commit.
    std::function<void(boost::json::value object)> stage;
    /// The list is whole: what was staged replaces all that was there.
    std::function<void()> commit;
    /// The list broke off: forget what was staged.
    std::function<void()> abandon;
    std::function<void(Event event, boost::json::value object)> apply;
  };
  struct Options {
    std::size_t page = 100;
    std::size_t max_line = 8u << 20;                      ///< one watch event
    std::size_t max_page = 64u << 20;                     ///< one page of a list
    std::chrono::seconds watch_min{300}, watch_max{600};  ///< server's timeoutSeconds, random
    std::chrono::milliseconds silence{90'000};            ///< no byte on a watch: reconnect
    std::chrono::milliseconds list_silence{10'000};       ///< no byte of a page: try again
    std::chrono::milliseconds list_timeout{60'000};       ///< one page, to its end
    /// A server that is back must be followed again within 5 s; Retry-After comes on top.
    std::chrono::milliseconds backoff_min{500}, backoff_max{4'000};
    std::chrono::milliseconds slice{1};  ///< most work between two yields to the loop
  };
  struct Health {
    bool synced = false;    ///< one whole list was applied
    MonoTime confirmed_at;  ///< last sign that what we have is current: list, event, bookmark,
                            ///< watch opened
    std::string fault;      ///< why it is not current; "" while the watch is open
    int failures = 0;       ///< in a row
    std::string resource_version;
    std::uint64_t lists = 0, watches = 0, events = 0, bookmarks = 0, relists_410 = 0,
                  bad_events = 0;
    /// 401 or 403 five times in a row: the credentials, not the network.
    bool denied = false;
  };

  /// `not_found_is_empty`: 404 on LIST (the CRD is not installed) counts as an empty list, looked
  /// at again each 30 s, and says so in the fault.
  Reflector(boost::asio::any_io_executor ex,
            ApiClient& api,
            Resource resource,
            Sink sink,
            Options options,
            const Clock& clock,
            bool not_found_is_empty = false);
  ~Reflector();
  /// Until cancelled: ends, or throws operation_aborted. A list that is not whole is abandoned.
  boost::asio::awaitable<void> run();
  const Health& health() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet::k8s
