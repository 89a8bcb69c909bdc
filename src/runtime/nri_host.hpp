#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "net/listener.hpp"
#include "net/ttrpc.hpp"
#include "reactor/task_group.hpp"
#include "runtime/cri_hooks.hpp"

namespace koordlet::runtime {

/// The runtime's end of NRI for one plugin, the koordlet daemon: so the daemon has one protocol for
/// its hooks, whether the runtime speaks it or the CRI proxy stands before one that does not.
///
/// The daemon connects, registers, is told all that the runtime has (its answer is carried out),
/// and is asked from then on. One connection at a time: a second one is closed at once. One that
/// does not answer in time is closed, so that a daemon that hangs delays one call and not each; it
/// connects again and is told everything anew. One that hangs again before it answered anything is
/// turned away for `pause`, twice as long with each further time. Loop thread.
class NriHost final : public CriHooks {
 public:
  struct Options {
    std::string socket;          ///< absolute path; made with mode 0600
    std::string runtime_name{};  ///< what the daemon is told about who asks
    std::string runtime_version{};
    std::chrono::milliseconds timeout{2'000};  ///< of one hook
    std::chrono::milliseconds register_time{5'000};
    std::chrono::milliseconds retry{1'000};  ///< of lists and updates while the runtime is away
    std::chrono::milliseconds pause{1'000};  ///< nobody may connect after the second hang in a row
    std::chrono::milliseconds longest_pause{60'000};
    std::size_t part_bytes = 1u << 20;  ///< of one Synchronize
  };
  struct Deps {
    /// What the runtime has; asked again after an error.
    std::function<boost::asio::awaitable<Result<HookInventory>>()> inventory;
    /// Changes a container; its id is one that hooks were told. After an error that may pass
    /// (kBusy, kIo, kNotFound) it is asked again, while is_known() says so.
    std::function<boost::asio::awaitable<Result<void>>(HookUpdate)> update;
    std::function<bool(const std::string& id)> is_known{};  ///< empty: all are
    std::function<void()> on_change{};                      ///< Status::ready or why is another one
  };
  struct Status {
    bool ready = false;
    std::string plugin{};  ///< "00-koordlet_nri" while one is registered
    std::string why{};     ///< not ready: the last reason
    std::uint64_t connections = 0;
    std::uint64_t turned_away = 0;  ///< while one was open, or in a pause
    std::uint64_t asked = 0;
    std::uint64_t unanswered = 0;      ///< late, lost, or not to be understood
    std::uint64_t hangs = 0;           ///< in a row: late or not understood, nothing answered since
    std::uint64_t refused = 0;         ///< answers that are errors
    std::uint64_t updates = 0;         ///< of running containers, carried out
    std::uint64_t updates_failed = 0;  ///< refused for good
    std::size_t updates_waiting = 0;   ///< for the runtime to come back
    std::uint64_t repaired = 0;        ///< containers that were made unasked and looked at since
    std::uint64_t dropped = 0;         ///< events: too many waited for the daemon
  };
  /// The clock outlives the host.
  NriHost(boost::asio::any_io_executor ex, Options options, Deps deps, const Clock& clock);
  ~NriHost() override;
  NriHost(const NriHost&) = delete;
  NriHost& operator=(const NriHost&) = delete;

  Result<void> listen();  ///< errors as HttpServer::listen_unix
  /// Until cancelled. Once, after listen().
  boost::asio::awaitable<void> run();
  Status status() const;

  std::uint64_t session() const override;
  Answer<HookAdjustment> create_container(HookPod pod, HookContainer container) override;
  Answer<HookResources> update_container(HookPod pod,
                                         HookContainer container,
                                         HookResources asked) override;
  boost::asio::awaitable<void> stopping(HookPod pod, HookContainer container) override;
  void happened(HookEvent event, const HookPod& pod, const HookContainer* container) override;
  void missed(const HookPod& pod, const HookContainer& container) override;

 private:
  struct Session;
  using Reply = std::function<void(net::TtrpcResponse)>;
  using Updates = std::vector<HookUpdate>;
  template <class T>
  using Awaitable = boost::asio::awaitable<T>;

  void accept_all();
  void begin(int fd);
  Awaitable<void> serve(std::shared_ptr<Session> session);
  Awaitable<Result<void>> introduce(std::shared_ptr<Session> session);
  Awaitable<Result<HookInventory>> list(std::shared_ptr<Session> session);
  Awaitable<Result<Updates>> synchronize(std::shared_ptr<Session> session, HookInventory inventory);
  void answer(Session& session, const net::TtrpcRequest& request, const Reply& reply);
  Awaitable<void> answer_updates(Updates updates, Reply reply);
  Awaitable<Updates> carry_out(Updates updates);
  bool wait_with(HookUpdate update, const Error& why);
  Awaitable<void> carry_out_later();
  Awaitable<Result<std::optional<std::string>>> ask(std::string method, std::string body);
  Awaitable<void> tell(std::string method, std::string body);
  Awaitable<void> repair(HookPod pod, HookContainer container);
  void unanswered(std::string why);
  void note_hang();
  void changed(bool ready, std::string why);

  boost::asio::any_io_executor ex_;
  Options options_;
  Deps deps_;
  const Clock& clock_;
  std::optional<net::Listener> listener_{};
  reactor::TaskGroup tasks_;
  std::shared_ptr<Session> session_{};  ///< nullptr: nobody is connected
  /// Updates that the runtime could not take, by container; of the session that is open.
  std::map<std::string, HookUpdate> waiting_{};
  bool retrying_ = false;
  MonoTime paused_until_{};
  Status status_{};
};

}  // namespace koordlet::runtime
