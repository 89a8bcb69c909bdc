#include "app/record_replay.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "app/commands.hpp"
#include "app/setting.hpp"
#include "app/text_table.hpp"
#include "app/whole_file.hpp"
#include "modules/flight_recorder/recorded_node.hpp"
#include "modules/flight_recorder/states_codec.hpp"
#include "modules/qos_manager/qos_manager.hpp"

namespace koordlet::app {
namespace {

using std::chrono::milliseconds;
using store::RecordedWish;
using store::TickFrame;

constexpr std::size_t kLinesShown = 10;

std::string wish_text(const std::string& value,
                      const std::string& plugin,
                      const std::string& reason) {
  return fmt::format("{} ({}: {})", value, plugin, reason);
}

class RecordingReplay {
 public:
  RecordingReplay(const Overrides& overrides, std::string source) : overrides_{overrides} {
    out_.source = std::move(source);
  }
  Result<void> segment(const store::Segment& s, std::optional<WallTime> from);
  RecordingReport take() { return std::move(out_); }

 private:
  Result<void> resume(const store::Segment& s);
  void tick(const TickFrame& f, bool gap, bool shown);
  TickDecision decide(const TickFrame& f, std::vector<std::string>& uids);
  std::vector<std::string> differences(const RecordingRow& row) const;
  void add_wish_differences(std::vector<std::string>& lines) const;
  bool same_wishes() const;

  const Overrides& overrides_;
  RecordingReport out_;
  flight::RecordedNode node_;
  std::unique_ptr<QosManager> qos_;
  std::string run_;
  std::uint64_t last_number_ = 0;
  MonoTime last_now_{};
};

/// Frames of one run follow each other in time; another order is no daemon's. `before`: the time
/// before the segment's first tick.
Result<void> check_times(const store::Segment& s, MonoTime before) {
  constexpr std::size_t kFirstTick = 2;  // frames are counted from 1, and the first is the key
  for (std::size_t i = 0; i < s.ticks.size(); ++i) {
    const auto now = s.ticks[i].now;
    if (now < before) {
      const auto ms = [](MonoTime t) {
        return std::chrono::duration_cast<milliseconds>(t.time_since_epoch()).count();
      };
      return Error{
          Errc::kParse,
          fmt::format("{}: frame {}: time {} ms: expected at least {} ms, that of the tick "
                      "before",
                      s.file,
                      i + kFirstTick,
                      ms(now),
                      ms(before))};
    }
    before = now;
  }
  return {};
}

/// A QosManager as the daemon's was before the first tick, but for the changed settings.
Result<void> RecordingReplay::resume(const store::Segment& s) {
  Overrides all{s.key.settings.begin(), s.key.settings.end()};
  all.insert(all.end(), overrides_.begin(), overrides_.end());
  const auto config = load_config("", all);
  if (!config.ok()) {
    auto fault = config.faults.front();
    // A rule over two keys names the one that was set as often as the other.
    const bool own = std::any_of(overrides_.begin(), overrides_.end(), [&](const auto& o) {
      return o.first == fault.key || fault.expected.find(o.first) != std::string::npos;
    });
    if (!own) fault.file = s.file;
    return Error{Errc::kParse, to_string(fault)};
  }
  auto states = flight::decode_states(s.key.states, s.key.now);
  if (!states) return wrap(s.file + ": key frame", states.error());
  qos_ = std::make_unique<QosManager>(config.loaded.config.qos.policy);
  qos_->resume(std::move(*states));
  return {};
}

Result<void> RecordingReplay::segment(const store::Segment& s, std::optional<WallTime> from) {
  out_.torn_bytes += s.torn_bytes;
  if (s.ticks.empty()) return {};
  if (from && s.ticks.back().wall < *from) return {};
  ++out_.segments;
  out_.version = s.key.version;
  const bool new_run = run_ != s.key.run;
  const auto start = new_run ? s.ticks.front().now : last_now_;
  if (const auto timed = check_times(s, start); !timed) return timed;
  last_now_ = s.ticks.back().now;
  const bool follows = qos_ && !new_run && s.ticks.front().number == last_number_ + 1;
  if (!follows) {
    if (const auto resumed = resume(s); !resumed) return resumed;
  }
  if (new_run) ++out_.runs;
  run_ = s.key.run;
  node_.restart();
  bool gap = !follows && !new_run && !out_.rows.empty();
  for (const auto& f : s.ticks) {
    tick(f, gap, !from || f.wall >= *from);
    gap = false;
    last_number_ = f.number;
  }
  return {};
}

TickDecision RecordingReplay::decide(const TickFrame& f, std::vector<std::string>& uids) {
  const auto& table = qos_->step(node_.snapshot());
  TickDecision out;
  const auto& state = qos_->status().pressure;
  out.level = state.level;
  out.factor_permille = state.factor_permille;
  out.below_exit = state.below_exit;
  out.root_cap = state.root_cap;
  out.wishes = table.size();
  if (!f.evict) return out;
  policy::EvictInput input;
  input.api_ok = f.evict->api_ok;
  input.outcomes = f.evict->outcomes;
  for (const auto& wish : qos_->evict(node_.snapshot(), input).wishes) uids.push_back(wish.uid);
  out.evictions = uids;
  return out;
}

bool RecordingReplay::same_wishes() const {
  const auto& now = qos_->desired();
  const auto& then = node_.wishes();
  return now.size() == then.size() &&
         std::equal(now.begin(), now.end(), then.begin(), [](const auto& a, const auto& b) {
           return a.first == b.first && a.second.value == b.second.value;
         });
}

void RecordingReplay::tick(const TickFrame& f, bool gap, bool shown) {
  node_.apply(f);
  RecordingRow row;
  row.wall = f.wall;
  row.gap = gap;
  auto& then = row.recorded;
  then.level = static_cast<policy::Level>(std::clamp(f.level, 0, 2));
  then.factor_permille = f.factor_permille;
  then.below_exit = f.below_exit;
  then.root_cap = f.root_cap;
  then.wishes = node_.wishes().size();
  if (f.evict) {
    for (const auto& wish : f.evict->wishes) then.evictions.push_back(wish.uid);
  }
  std::vector<std::string> uids;
  row.replayed = decide(f, uids);
  if (!shown) return;
  const auto& s = node_.snapshot();
  if (s.state->node) {
    row.capacity = s.state->node->cpu_capacity;
    out_.node = s.state->node->name;
  }
  if (s.signals) {
    row.node_used = s.signals->node_used;
    row.be_used = s.signals->be_used;
    if (s.signals->kubepods_used && s.signals->be_used) {
      row.ls_used = *s.signals->kubepods_used - *s.signals->be_used;
    }
    row.memory_used = s.signals->memory_used;
  }
  if (s.be_root && s.be_root->cpu_max.quota.bound() && s.be_root->cpu_max.period.count() > 0) {
    const auto& max = s.be_root->cpu_max;
    row.be_cap = MilliCpu{max.quota.bound()->count() * 1000 / max.period.count()};
  }
  row.known = qos_->status().stale.empty();
  if (out_.rows.empty()) row.gap = false;
  row.at = out_.rows.empty() ? milliseconds{0}
                             : std::chrono::duration_cast<milliseconds>(f.wall - out_.rows[0].wall);
  row.same = row.recorded == row.replayed && same_wishes();
  out_.gaps += row.gap ? 1 : 0;
  out_.recorded_evictions += then.evictions.size();
  out_.replayed_evictions += row.replayed.evictions.size();
  if (!row.same) {
    ++out_.different;
    if (!out_.first) out_.first = RecordingDifference{row.wall, row.at, differences(row)};
  }
  out_.rows.push_back(std::move(row));
}

std::vector<std::string> RecordingReplay::differences(const RecordingRow& row) const {
  std::vector<std::string> out;
  const auto& a = row.recorded;
  const auto& b = row.replayed;
  const auto& state = qos_->status().pressure;
  if (a.level != b.level) {
    out.push_back(fmt::format("level: recorded {}, replayed {}: node use {}.{:02} %{}{}",
                              policy::to_string(a.level),
                              policy::to_string(b.level),
                              state.use_permyriad / 100,
                              state.use_permyriad % 100,
                              state.raise.reason.empty() ? "" : "; ",
                              state.raise.reason));
  }
  const auto numbers = [&](const char* what, std::int64_t then, std::int64_t now) {
    if (then != now) out.push_back(fmt::format("{}: recorded {}, replayed {}", what, then, now));
  };
  numbers("factor permille", a.factor_permille, b.factor_permille);
  numbers("samples below exit", a.below_exit, b.below_exit);
  numbers("BE-root cap, milli-cores", a.root_cap.v, b.root_cap.v);
  if (a.evictions != b.evictions) {
    out.push_back(fmt::format("eviction: recorded {}, replayed {}",
                              a.evictions.empty() ? "none" : a.evictions.front(),
                              b.evictions.empty() ? "none" : b.evictions.front()));
  }
  add_wish_differences(out);
  return out;
}

void RecordingReplay::add_wish_differences(std::vector<std::string>& lines) const {
  const auto& now = qos_->desired();
  const auto& then = node_.wishes();
  std::set<CgroupKey> keys;
  for (const auto& [key, wish] : now) keys.insert(key);
  for (const auto& [key, wish] : then) keys.insert(key);
  std::size_t more = 0;
  for (const auto& key : keys) {
    const auto n = now.find(key);
    const auto t = then.find(key);
    if (n != now.end() && t != then.end() && n->second.value == t->second.value) continue;
    if (lines.size() >= kLinesShown) {
      ++more;
      continue;
    }
    const auto of_now =
        n == now.end() ? std::string{"none"}
                       : wish_text(to_string(n->second.value), n->second.plugin, n->second.reason);
    const auto of_then =
        t == then.end() ? std::string{"none"}
                        : wish_text(to_string(t->second.value), t->second.plugin, t->second.reason);
    lines.push_back(fmt::format("{}: recorded {}, replayed {}", to_string(key), of_then, of_now));
  }
  if (more > 0) lines.push_back(fmt::format("... and {} files more", more));
}

/// The end of the recording minus `since`. A newest segment without a tick ends where it begins.
WallTime start_of(const store::Segment& newest, milliseconds since) {
  const auto end = newest.ticks.empty() ? newest.key.wall : newest.ticks.back().wall;
  return end.time_since_epoch() > since ? end - since : WallTime{};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> recorded_settings(const LoadedConfig& loaded) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& v : loaded.values) {
    if (v.key.starts_with("qos.") || v.key.starts_with("hooks.")) out.emplace_back(v.key, v.value);
  }
  return out;
}

Result<RecordingReport> replay_recording(const std::string& path,
                                         const Overrides& overrides,
                                         milliseconds since) {
  for (const auto& [key, text] : overrides) {
    if (key.starts_with("qos.") || key.starts_with("hooks.") || find_setting(key) == nullptr)
      continue;
    return Error{Errc::kInvalid,
                 fmt::format("command line: {}: \"{}\": expected a key of [qos]: a replay looks at "
                             "no other",
                             key,
                             printable(text))};
  }
  const auto files = store::find_segments(path);
  if (!files) return files.error();
  const auto schema = flight::recording_schema();
  std::optional<WallTime> from;
  if (since.count() > 0) {
    const auto newest = store::read_segment(files->back(), schema);
    if (!newest) return newest.error();
    from = start_of(*newest, since);
  }
  RecordingReplay run{overrides, path};
  for (const auto& file : *files) {
    const auto segment = store::read_segment(file, schema);
    if (!segment) {
      // The ring of a running daemon moves on: its oldest segment may be gone by now.
      if (segment.error().code == Errc::kNotFound && files->size() > 1) continue;
      return segment.error();
    }
    const auto done = run.segment(*segment, from);
    if (!done) return done.error();
  }
  auto out = run.take();
  if (out.rows.empty()) return Error{Errc::kNotFound, path + ": expected at least one tick"};
  return out;
}

CommandOutput run_recording(const CommandLine& command) {
  CommandOutput out;
  const auto report =
      replay_recording(command.recording, command.overrides, milliseconds{command.since_ms});
  if (!report) {
    out.exit_code = kExitFailed;
    out.err = terminal_text(report.error().context) + "\n";
    return out;
  }
  out.out = command.json ? recording_json(*report) : recording_text(*report);
  if (command.plot_file.empty()) return out;
  WholeFile file{command.plot_file};
  auto done = file.open();
  if (done) done = file.write(recording_svg(*report));
  if (done) done = file.keep();
  if (!done) {
    out.exit_code = kExitFailed;
    out.err = terminal_text(done.error().context) + "\n";
  }
  return out;
}

}  // namespace koordlet::app
