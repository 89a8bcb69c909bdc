#include <fmt/format.h>

#include "app/daemon_impl.hpp"
#include "app/record_replay.hpp"

namespace koordlet::app {

void Daemon::open_recorder() {
  if (!config_.recorder.enabled) return;
  FlightRecorder::Run run;
  run.id = fmt::format("{}-{}", boot_id_, started_.time_since_epoch().count());
  run.version = KOORDLET_VERSION;
  run.settings = recorded_settings(loaded_);
  recorder_ = std::make_unique<FlightRecorder>(recorder_config(config_), std::move(run), *storage_);
}

void Daemon::record_before_step() {
  recorded_evict_.reset();
  if (recorder_ && recorder_->wants_states()) recorder_->begin(qos_->states());
}

void Daemon::record_tick(Snapshot snapshot) {
  if (!recorder_) return;
  const auto start = std::chrono::steady_clock::now();
  const auto& s = qos_->status();
  FlightRecorder::Decisions decisions;
  decisions.desired = &qos_->desired();
  decisions.level = s.pressure.level;
  decisions.factor_permille = s.pressure.factor_permille;
  decisions.below_exit = s.pressure.below_exit;
  decisions.root_cap = s.pressure.root_cap;
  decisions.level_reason = s.pressure.raise.reason;
  decisions.stale = s.stale;
  decisions.evict = std::exchange(recorded_evict_, std::nullopt);
  recorder_->note(std::move(snapshot), clock_.wall(), std::move(decisions));
  stages_["record"] = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - start);
}

void Daemon::add_recorder(StatusView& v) const {
  if (!recorder_) return;
  const auto s = recorder_->status();
  const auto& c = recorder_->config();
  v.recorder = {c.folder,
                c.size,
                s.bytes,
                s.segments,
                s.ticks,
                s.written_bytes,
                s.dropped,
                s.oldest,
                s.newest,
                s.lag,
                s.fault};
  v.gauge("recorder_bytes", static_cast<double>(s.bytes), "Bytes of the flight recordings.");
  v.gauge("recorder_lag_seconds",
          std::chrono::duration<double>(s.lag).count(),
          "Age of the oldest tick that is not written yet.");
  v.counter("recorder_ticks_total", s.ticks, "Ticks written to the flight recording.");
  v.counter("recorder_dropped_ticks_total",
            s.dropped,
            "Ticks that the flight recording lost to a full disk or a busy storage thread.");
  v.counter(
      "recorder_written_bytes_total", s.written_bytes, "Bytes written to the flight recording.");
}

}  // namespace koordlet::app
