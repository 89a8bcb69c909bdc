#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/proposal.hpp"
#include "model/snapshot.hpp"
#include "modules/flight_recorder/tick_encoder.hpp"
#include "policy/plugin_states.hpp"
#include "reactor/worker.hpp"

namespace koordlet {

/// Keeps the last hours of what the policy saw and decided (docs/recorder.md), so that
/// `koordlet simulate --from` can run it again. The loop hands over a tick with what it owns
/// anyway; everything else, from comparing to writing, is done by the storage thread. It never
/// waits: what that thread cannot take is dropped and counted.
class FlightRecorder {
 public:
  struct Config {
    bool enabled = true;
    std::string folder;                            ///< of the segments; made when it is not there
    std::uint64_t size = std::uint64_t{16} << 20;  ///< bytes of the whole ring
    std::chrono::milliseconds flush{2000};         ///< what the end of the process may cost
  };
  /// What is the same in the whole run.
  struct Run {
    std::string id;       ///< no other run has it
    std::string version;  ///< of koordlet
    std::vector<std::pair<std::string, std::string>> settings;
  };
  /// What came out of one tick.
  struct Decisions {
    const DesiredTable* desired = nullptr;  ///< borrowed for the call
    policy::Level level{};
    int factor_permille = 1000, below_exit = 0;
    MilliCpu root_cap;
    std::string level_reason;  ///< kept where the level changes
    std::string stale;
    std::optional<store::TickFrame::Evict> evict;  ///< nullopt: eviction was not asked
  };
  struct Status {
    std::uint64_t bytes = 0, segments = 0;
    std::uint64_t ticks = 0;          ///< written since the start
    std::uint64_t written_bytes = 0;  ///< since the start
    std::uint64_t dropped = 0;        ///< ticks since the start
    std::optional<WallTime> oldest, newest;
    std::chrono::milliseconds lag{0};  ///< newest tick seen minus newest tick written
    std::string fault;                 ///< why nothing is written now; "" it is
  };

  /// `storage` outlives the recorder or runs out before it is gone: its jobs share what they touch.
  FlightRecorder(Config config, Run run, reactor::Worker& storage);
  ~FlightRecorder();

  /// True: call begin() before the step of this tick.
  bool wants_states() const;
  /// A new segment: `states` hold before the tick that is noted next.
  void begin(policy::PluginStates states);
  /// One tick. `snapshot` is taken over; its containers are copied when they are others.
  void note(Snapshot snapshot, WallTime wall, Decisions decisions);
  /// Outcomes of the writes after a tick: they join the next one. Plain ones are left out.
  void note_outcomes(const std::vector<Outcome>& outcomes);
  /// Hands what is buffered to the kernel; the storage thread does it.
  void flush();
  Status status() const;
  const Config& config() const { return config_; }

 private:
  struct Shared;
  void take_wishes(const DesiredTable& desired, MonoTime now, flight::Observation& out);
  void take_containers(const flight::Containers* containers, flight::Observation& out);

  Config config_;
  reactor::Worker& storage_;
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<policy::PluginStates> states_;  ///< of the segment that the next tick begins
  bool recording_ = false;     ///< begin() was called, and nothing was lost since
  std::set<CgroupKey> known_;  ///< keys of the last table
  std::pair<std::size_t, std::int64_t> containers_seen_{};
  std::optional<policy::Level> level_;
  std::vector<Outcome> outcomes_;
  std::uint64_t number_ = 0;
  WallTime last_wall_;
};

}  // namespace koordlet
