#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "net/ttrpc.hpp"
#include "runtime/nri_events.hpp"
#include "runtime/nri_messages.hpp"
#include "runtime/nri_updates.hpp"

namespace koordlet::runtime {

/// Bit n - 1 subscribes to event n. What koordlet acts on: RunPodSandbox, StopPodSandbox,
/// RemovePodSandbox, CreateContainer, PostStartContainer, UpdateContainer, StopContainer,
/// RemoveContainer.
inline constexpr std::uint32_t kNriEvents = 0x6cf;
/// A runtime up to NRI 0.9 drops a plugin that subscribes to others.
inline constexpr std::uint32_t kNriKnownEvents = 0x7ff;
/// "RunPodSandbox,CreateContainer" as a mask. kParse: a name that is no event, or none at all (a
/// mask of 0 would mean every event).
Result<std::uint32_t> parse_nri_events(std::string_view names);

/// One connection's side of the NRI as a function from requests to responses, and what it must
/// remember between them. No I/O.
class NriPlugin {
 public:
  struct Options {
    std::uint32_t events = kNriEvents;
    HookFailurePolicy policy = HookFailurePolicy::kIgnore;
    std::chrono::milliseconds hook_timeout{5'000};
  };
  struct Counters {  ///< since the start, over all connections
    std::uint64_t requests = 0;
    std::uint64_t failures = 0;  ///< hooks that gave an error, threw, or broke the rules
    std::uint64_t damaged = 0;   ///< requests and entries that could not be read
    std::uint64_t late = 0;      ///< answers that took longer than the budget
    std::uint64_t unknown = 0;   ///< calls and events that it does not know
    std::string last_failure{};  ///< method and error
  };
  /// `events` and `clock` outlive it.
  NriPlugin(Options options, NriEvents& events, const Clock& clock)
      : options_{options}, events_{events}, clock_{clock} {}

  void begin();  ///< a new connection: nothing is known of the old one's state
  /// At once, however long it takes: Synchronize reads thousands of entries.
  net::TtrpcResponse answer(const net::TtrpcRequest& request);
  /// The same in steps of a millisecond. nullopt: step() until it answers; other requests may come
  /// between.
  std::optional<net::TtrpcResponse> begin_answer(const net::TtrpcRequest& request);
  std::optional<net::TtrpcResponse> step();

  bool is_synchronized() const { return synchronized_; }
  bool is_between_parts() const { return parts_.has_value(); }  ///< of a split Synchronize
  bool is_shut_down() const { return shut_down_; }              ///< the runtime says that it ends
  const NriConfigure& runtime() const { return runtime_; }
  /// min(hook_timeout, a quarter of the runtime's request timeout, 200 ms).
  std::chrono::milliseconds budget() const;
  const Counters& counters() const { return counters_; }
  /// Updates that wait: those that did not fit into the answer of Synchronize, and the owner's. A
  /// container that stops takes its own along.
  NriUpdates& updates() { return updates_; }
  const NriUpdates& updates() const { return updates_; }

 private:
  struct Method;
  using Payload = Result<std::string>;
  struct Parts {
    HookInventory inventory{};
    std::size_t bytes = 0;
  };
  /// A Synchronize that is worked on: its entries are read, and behind the last part the hooks see
  /// them all.
  struct Sync {
    NriSyncEntries entries{};
    bool reading = true;
    std::vector<HookUpdate> updates{};
    MonoTime began{};
  };

  Payload configure(std::string_view in);
  Result<void> begin_sync(std::string_view in);
  std::optional<Payload> sync_step();
  std::optional<Payload> read_some();
  std::optional<Payload> hear_some();
  std::string end_sync();
  Payload shutdown(std::string_view in);
  Payload create_container(std::string_view in);
  Payload update_container(std::string_view in);
  Payload stop_container(std::string_view in);
  Payload state_change(std::string_view in);
  Payload pod_event(HookEvent event, std::string_view in);
  Payload container_event(HookEvent event, std::string_view in);
  Payload tell(HookEvent event, const NriRequest& request);
  Payload guarded(const Method& method, std::string_view in);
  net::TtrpcResponse respond(std::string_view method, bool hook, MonoTime began, Payload payload);
  template <class T>
  Result<T> counted(Result<T> read) {
    if (!read) {
      ++counters_.damaged;
      protocol_fault_ = true;
    }
    return read;
  }

  Options options_;
  NriEvents& events_;
  const Clock& clock_;
  NriConfigure runtime_{};
  std::optional<Parts> parts_{};
  std::optional<Sync> sync_{};
  bool synchronized_ = false;
  bool shut_down_ = false;
  bool protocol_fault_ = false;  ///< the last failure is no hook's: the policy does not cover it
  NriUpdates updates_{};
  Counters counters_{};
};

}  // namespace koordlet::runtime
