#include "modules/flight_recorder/flight_recorder.hpp"

#include <atomic>

#include "modules/flight_recorder/recording_sink.hpp"

namespace koordlet {
namespace {

/// Ticks that wait for the storage thread. It may be busy with a commit for seconds; more than
/// this is memory that nobody asked for.
constexpr int kMostWaiting = 30;

/// The number and the sum of their times: a new sample of any of them is another sum.
std::pair<std::size_t, std::int64_t> mark_of(const flight::Containers& all) {
  std::uint64_t sum = 1;
  for (const auto& [id, usage] : all) {
    sum += static_cast<std::uint64_t>(usage.at.time_since_epoch().count());
  }
  return {all.size(), static_cast<std::int64_t>(sum)};
}

}  // namespace

struct FlightRecorder::Shared {
  Shared(const Config& config, Run run)
      : sink{{config.folder,
              config.size,
              config.flush,
              std::move(run.id),
              std::move(run.version),
              std::move(run.settings)}} {}

  flight::RecordingSink sink;  ///< storage thread; its figures are for everybody
  std::atomic<int> waiting{0};
};

FlightRecorder::FlightRecorder(Config config, Run run, reactor::Worker& storage)
    : config_{std::move(config)},
      storage_{storage},
      shared_{std::make_shared<Shared>(config_, std::move(run))} {
  storage_.post([shared = shared_] { shared->sink.open(); });
}

FlightRecorder::~FlightRecorder() = default;

bool FlightRecorder::wants_states() const { return shared_->sink.figures().wants_states; }

void FlightRecorder::begin(policy::PluginStates states) {
  states_ = std::make_unique<policy::PluginStates>(std::move(states));
  shared_->sink.figures().wants_states = false;
  recording_ = true;
}

void FlightRecorder::take_wishes(const DesiredTable& desired,
                                 MonoTime now,
                                 flight::Observation& out) {
  const bool all = out.states != nullptr;
  if (all) known_.clear();
  for (const auto& [key, wish] : desired) {
    // `since` is when the value became the wish: the others are as they were.
    if (!all && wish.since != now) continue;
    out.wishes.push_back({key, wish.value, wish.role, wish.plugin, wish.reason});
    known_.insert(key);
  }
  if (known_.size() == desired.size()) return;
  auto wish = desired.begin();
  for (auto known = known_.begin(); known != known_.end();) {
    while (wish != desired.end() && wish->first < *known) ++wish;
    if (wish != desired.end() && wish->first == *known) {
      ++known;
      continue;
    }
    out.wishes_gone.push_back(*known);
    known = known_.erase(known);
  }
}

void FlightRecorder::take_containers(const flight::Containers* containers,
                                     flight::Observation& out) {
  const auto mark =
      containers == nullptr ? std::pair<std::size_t, std::int64_t>{} : mark_of(*containers);
  if (!out.states && mark == containers_seen_) return;
  containers_seen_ = mark;
  out.containers =
      containers == nullptr ? nullptr : std::make_shared<const flight::Containers>(*containers);
}

void FlightRecorder::note(Snapshot snapshot, WallTime wall, Decisions decisions) {
  ++number_;
  last_wall_ = wall;
  if (!recording_ || shared_->waiting >= kMostWaiting) {
    auto& figures = shared_->sink.figures();
    ++figures.dropped;
    // What follows a lost tick means nothing without it.
    if (recording_) figures.wants_states = true;
    recording_ = false;
    states_.reset();
    return;
  }
  auto out = std::make_shared<flight::Observation>();
  out->wall = wall;
  out->number = number_;
  out->states = std::move(states_);
  take_containers(snapshot.containers, *out);
  take_wishes(*decisions.desired, snapshot.now, *out);
  out->snapshot = std::move(snapshot);
  out->snapshot.containers = nullptr;
  out->level = static_cast<int>(decisions.level);
  out->factor_permille = decisions.factor_permille;
  out->below_exit = decisions.below_exit;
  out->root_cap = decisions.root_cap;
  if (level_ != decisions.level) out->why = std::move(decisions.level_reason);
  level_ = decisions.level;
  out->stale = std::move(decisions.stale);
  out->evict = std::move(decisions.evict);
  out->outcomes = std::exchange(outcomes_, {});
  ++shared_->waiting;
  storage_.post([shared = shared_, out = std::move(out)] {
    --shared->waiting;
    shared->sink.take(std::move(*out));
  });
}

void FlightRecorder::note_outcomes(const std::vector<Outcome>& outcomes) {
  if (!recording_) return;
  for (const auto& o : outcomes) {
    if (o.kind != OutcomeKind::kUnchanged && o.kind != OutcomeKind::kWritten)
      outcomes_.push_back(o);
  }
}

void FlightRecorder::flush() {
  storage_.post([shared = shared_] { shared->sink.flush(); });
}

FlightRecorder::Status FlightRecorder::status() const {
  const auto& f = shared_->sink.figures();
  Status out;
  out.bytes = f.bytes;
  out.segments = f.segments;
  out.ticks = f.ticks;
  out.written_bytes = f.written_bytes;
  out.dropped = f.dropped;
  const auto wall_of = [](std::int64_t ns) {
    return ns == 0 ? std::nullopt : std::optional{WallTime{WallTime::duration{ns}}};
  };
  out.oldest = wall_of(f.oldest_ns);
  out.newest = wall_of(f.newest_ns);
  if (out.newest && last_wall_ > *out.newest) {
    out.lag = std::chrono::duration_cast<std::chrono::milliseconds>(last_wall_ - *out.newest);
  }
  if (const auto fault = f.fault.load()) out.fault = *fault;
  return out;
}

}  // namespace koordlet
