#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/backoff.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "runtime/nri_events.hpp"
#include "runtime/nri_plugin.hpp"

namespace koordlet::net {
class TtrpcPeer;
}

namespace koordlet::runtime {

struct NriOptions {
  std::string socket = "/var/run/nri/nri.sock";  ///< absolute path, at most 107 bytes
  std::string name = "koordlet_nri";             ///< [A-Za-z0-9_.+-], 1..63
  std::string index = "00";                      ///< two digits: the order among plugins
  NriPlugin::Options plugin{};
  std::chrono::milliseconds register_timeout{5'000};  ///< the runtime's own limit
  std::chrono::milliseconds update_timeout{2'000};    ///< of unsolicited updates
  /// So long after the registration without Synchronize the status names it as a fault.
  std::chrono::milliseconds sync_patience{10'000};
  /// Unsolicited updates wait until so long after the last request of the runtime.
  std::chrono::milliseconds quiet{50};
  std::chrono::milliseconds backoff_min{1'000};  ///< doubles; each wait is half to all of it
  std::chrono::milliseconds backoff_max{30'000};
  /// A connection that was ready and lived so long starts the back-off anew.
  std::chrono::milliseconds stable{6'000};
  std::uint64_t seed = 0;  ///< of the jitter: another one on each node
};
/// kInvalid: name, index, socket, events or times out of their range; one line.
Result<void> check(const NriOptions& options);

struct NriStatus {
  enum class State {
    kConnecting,  ///< no connection, or not registered
    kRegistered,  ///< registered, but the runtime has not said what it has: no events may come
    kReady,       ///< after Synchronize
  };
  State state = State::kConnecting;
  MonoTime since{};                    ///< of the state
  std::string why{};                   ///< not ready: the last reason; "" when there is none yet
  NriConfigure runtime{};              ///< of this connection; empty before Configure
  std::chrono::milliseconds budget{};  ///< for one answer
  std::uint64_t connections = 0;       ///< made since the start
  NriPlugin::Counters events{};
  std::size_t updates_waiting = 0;
  std::uint64_t updates_sent = 0;    ///< unsolicited ones that the runtime took
  std::uint64_t updates_failed = 0;  ///< that it could not apply, or never answered
};
const char* to_string(NriStatus::State state);  ///< "connecting", "registered", "ready"

/// koordlet as a plugin of a container runtime, over the NRI socket. The seam: NriEvents gets the
/// runtime's events as plain values and answers at once; queue() carries what koordlet itself wants
/// changed later; status() says how it stands. Who owns the hooks implements NriEvents, makes one
/// NriConnection and spawns run() in its TaskGroup; nothing here knows what the values are.
///
/// There is one connection at any time, made by one loop: the old one is closed before the next
/// one is tried, a missing socket is tried again for ever. Loop thread.
class NriConnection {
 public:
  /// The options as check() says. `events` and `clock` outlive it.
  static Result<std::unique_ptr<NriConnection>> make(boost::asio::any_io_executor ex,
                                                     NriOptions options,
                                                     NriEvents& events,
                                                     const Clock& clock);
  NriConnection(const NriConnection&) = delete;
  NriConnection& operator=(const NriConnection&) = delete;

  /// Until cancelled. Once, and the object outlives it.
  boost::asio::awaitable<void> run();
  /// An unsolicited update. It waits until the runtime is idle (no event in the last
  /// NriOptions::quiet, no half Synchronize, nothing unsent): the runtime holds its lock during an
  /// event. A newer one is laid over an older one of the same container. What still waits when the
  /// connection ends is dropped: the next Synchronize asks for everything. CPU sets can be set this
  /// way, not cleared. kBusy: not ready, or too many wait; kInvalid: as check_updates().
  Result<void> queue(HookUpdate update);
  NriStatus status() const;

 private:
  NriConnection(boost::asio::any_io_executor ex,
                NriOptions options,
                NriEvents& events,
                const Clock& clock);
  boost::asio::awaitable<Error> session();
  boost::asio::awaitable<Error> serve(net::TtrpcPeer& peer);
  boost::asio::awaitable<void> flush(net::TtrpcPeer& peer);
  boost::asio::awaitable<void> pause();
  bool may_flush(const net::TtrpcPeer& peer) const;
  std::optional<MonoTime> next_look() const;
  void wake_at(std::optional<MonoTime> at);
  using Reply = std::function<void(net::TtrpcResponse)>;
  void take(const net::TtrpcRequest& request, Reply reply);
  void step_later(Reply reply);
  void answered();
  void look();  ///< takes the state from what has happened
  void end();   ///< of a connection

  boost::asio::any_io_executor ex_;
  NriOptions options_;
  const Clock& clock_;
  NriPlugin plugin_;
  boost::asio::steady_timer wake_;  ///< something happened, or is due
  Backoff backoff_;
  NriStatus status_{};
  std::optional<MonoTime> registered_{};
  std::shared_ptr<int> alive_{};  ///< while a connection is; what it posted looks first
  MonoTime last_request_{};
};

}  // namespace koordlet::runtime
