#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace koordlet::log {

enum class Level { kDebug, kInfo, kWarn, kError };

struct Options {
  Level level = Level::kInfo;
  bool json = false;  ///< one JSON object a line instead of text
  std::size_t queue =
      8192;  ///< lines kept when the reader stalls; older lines are dropped and counted
};

/// Starts the writer thread behind a bounded queue. Before start() and after stop() warnings and
/// errors go straight to stderr, the rest nowhere. Threads: line() may be called from any thread.
/// stop() flushes.
void start(const Options& options);
void stop();

/// One line an event: "LEVEL time subject: text". Library code never logs; the caller that decides
/// does, once.
void line(Level level, std::string_view subject, std::string_view text);
inline void debug(std::string_view subject, std::string_view text) {
  line(Level::kDebug, subject, text);
}
inline void info(std::string_view subject, std::string_view text) {
  line(Level::kInfo, subject, text);
}
inline void warn(std::string_view subject, std::string_view text) {
  line(Level::kWarn, subject, text);
}
inline void error(std::string_view subject, std::string_view text) {
  line(Level::kError, subject, text);
}

std::uint64_t dropped();  ///< lines lost to a full queue since start()

}  // namespace koordlet::log
