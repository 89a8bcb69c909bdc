#include "modules/flight_recorder/recording_sink.hpp"

#include "modules/flight_recorder/states_codec.hpp"

namespace koordlet::flight {
namespace {

/// Between two tries on a disk that takes nothing.
constexpr std::chrono::seconds kRetry{30};

std::int64_t ns_of(WallTime t) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}

}  // namespace

RecordingSink::RecordingSink(Options options)
    : options_{std::move(options)}, ring_{options_.folder, options_.size, recording_schema()} {}

void RecordingSink::open() {
  if (const auto opened = ring_.open(); !opened) failed(opened.error(), {});
  show();
}

void RecordingSink::show() {
  figures_.bytes = ring_.bytes();
  figures_.segments = ring_.files().size();
  figures_.oldest_ns = ring_.files().empty() ? 0 : ns_of(ring_.files().front().from);
}

void RecordingSink::failed(const Error& error, MonoTime now) {
  figures_.fault = std::make_shared<const std::string>(error.context);
  figures_.dropped += buffered_;
  buffer_.clear();
  buffered_ = 0;
  retry_at_ = now + kRetry;
}

void RecordingSink::begin(Observation o) {
  flush();
  names_.clear();
  encoder_.restart();
  store::KeyFrame key;
  key.now = o.snapshot.now;
  key.wall = o.wall;
  key.run = options_.run;
  key.number = o.number;
  key.version = options_.version;
  key.settings = options_.settings;
  key.states = encode_states(*o.states, key.now);
  std::string frames;
  store::append_frame(frames, store::encode_frame(key, names_));
  store::append_frame(frames, store::encode_frame(encoder_.frame(std::move(o)), names_));
  buffered_ = 1;
  const auto begun = ring_.begin(frames, key.wall);
  if (!begun) return failed(begun.error(), key.now);
  buffered_ = 0;
  ++figures_.ticks;
  figures_.written_bytes += frames.size();
  figures_.newest_ns = ns_of(key.wall);
  figures_.fault = std::shared_ptr<const std::string>{};
  flushed_at_ = key.now;
}

void RecordingSink::take(Observation o) {
  last_now_ = o.snapshot.now;
  const auto wall = o.wall;
  if (o.states) {
    begin(std::move(o));
  } else if (!ring_.is_open()) {
    ++figures_.dropped;
    if (last_now_ >= retry_at_) figures_.wants_states = true;
  } else {
    const auto frame = store::encode_frame(encoder_.frame(std::move(o)), names_);
    if (buffered_ == 0) flushed_at_ = last_now_;
    store::append_frame(buffer_, frame);
    ++buffered_;
    last_wall_ = wall;
    if (last_now_ - flushed_at_ >= options_.flush) flush();
    if (ring_.is_full()) figures_.wants_states = true;
  }
  show();
}

void RecordingSink::flush() {
  if (buffered_ == 0) return;
  const auto written = ring_.append(buffer_);
  if (!written) return failed(written.error(), last_now_);
  figures_.ticks += buffered_;
  figures_.written_bytes += buffer_.size();
  figures_.newest_ns = ns_of(last_wall_);
  buffer_.clear();
  buffered_ = 0;
  show();
}

}  // namespace koordlet::flight
