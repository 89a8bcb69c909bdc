#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "modules/flight_recorder/tick_encoder.hpp"
#include "store/recording_file.hpp"

namespace koordlet::flight {

/// The storage thread's half of the flight recorder: observations in, files out.
class RecordingSink {
 public:
  struct Options {
    std::string folder;
    std::uint64_t size = 0;
    std::chrono::milliseconds flush{0};
    std::string run, version;
    std::vector<std::pair<std::string, std::string>> settings;
  };
  /// Read from any thread, each for itself.
  struct Figures {
    std::atomic<bool> wants_states{true};
    std::atomic<std::uint64_t> bytes{0}, segments{0}, ticks{0}, written_bytes{0}, dropped{0};
    std::atomic<std::int64_t> oldest_ns{0}, newest_ns{0};  ///< wall; 0: none
    std::atomic<std::shared_ptr<const std::string>> fault;
  };
  explicit RecordingSink(Options options);

  void open();
  void take(Observation observation);
  void flush();
  Figures& figures() { return figures_; }

 private:
  void begin(Observation observation);
  void failed(const Error& error, MonoTime now);
  void show();

  Options options_;
  store::SegmentRing ring_;
  TickEncoder encoder_;
  store::WriteNames names_;
  std::string buffer_;
  std::uint64_t buffered_ = 0;  ///< ticks in it
  MonoTime flushed_at_, last_now_, retry_at_;
  WallTime last_wall_;
  Figures figures_;
};

}  // namespace koordlet::flight
