#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/client.hpp"
#include "app/command_line.hpp"
#include "app/config.hpp"
#include "base/result.hpp"
#include "policy/pressure_raise.hpp"
#include "sim/timeline.hpp"
#include "store/recording_file.hpp"

/// `koordlet simulate --from`: a flight recording decided again (docs/recorder.md).
namespace koordlet::app {

/// Keys that decisions depend on, with their values: what goes into a recording.
std::vector<std::pair<std::string, std::string>> recorded_settings(const LoadedConfig& loaded);

/// What one tick decided.
struct TickDecision {
  policy::Level level{};
  int factor_permille = 1000, below_exit = 0;
  MilliCpu root_cap;
  std::size_t wishes = 0;              ///< control files that have one
  std::vector<std::string> evictions;  ///< uids
  friend bool operator==(const TickDecision&, const TickDecision&) = default;
};

/// One tick, as it was and as it comes out now.
struct RecordingRow {
  WallTime wall;
  std::chrono::milliseconds at{0};  ///< since the first row
  std::optional<MilliCpu> node_used, ls_used, be_used;
  MilliCpu capacity;  ///< 0: unknown
  std::optional<Bytes> memory_used;
  std::optional<MilliCpu> be_cap;  ///< of the BE root, as it stood in the kernel
  TickDecision recorded, replayed;
  bool known = false;  ///< a decision could be made: inputs were there
  bool same = true;
  bool gap = false;  ///< ticks before it are missing: the states of the recording hold from here
};

/// Where recording and replay part.
struct RecordingDifference {
  WallTime wall;
  std::chrono::milliseconds at{0};
  std::vector<std::string> lines;  ///< "level: recorded HIGH, replayed MID: node use 72.10 %"
};

struct RecordingReport {
  std::string source, node, version;  ///< of the newest segment
  std::vector<RecordingRow> rows;
  std::uint64_t different = 0;  ///< ticks
  std::optional<RecordingDifference> first;
  std::size_t segments = 0, runs = 0;
  std::uint64_t gaps = 0, torn_bytes = 0;
  std::uint64_t recorded_evictions = 0, replayed_evictions = 0;  ///< victims named
};

/// Runs the recorded inputs through QosManager with its arbiter. Open loop: the node does what it
/// did, whatever is decided now. `overrides` go over the recorded settings. Each run, and each
/// segment behind a gap, begins with the recorded states of the plugins; the rest goes on from what
/// the replay itself came to. `since`: zero for all.
Result<RecordingReport> replay_recording(const std::string& path,
                                         const Overrides& overrides,
                                         std::chrono::milliseconds since);

std::string recording_text(const RecordingReport& report);
std::string recording_json(const RecordingReport& report);
/// For the drawing: rows as the simulator has them, with the replayed level.
std::string recording_svg(const RecordingReport& report);

/// Exit 1 for what is no good recording, or settings that no replay can have; differences are an
/// answer, not a failure.
CommandOutput run_recording(const CommandLine& command);

}  // namespace koordlet::app
