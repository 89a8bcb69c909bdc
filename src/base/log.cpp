#include "base/log.hpp"

#include <memory>
#include <mutex>

#include <fmt/format.h>
#include <spdlog/async.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace koordlet::log {
namespace {

struct Writer {
  std::mutex mutex;
  std::shared_ptr<spdlog::details::thread_pool> pool;
  std::shared_ptr<spdlog::logger> logger;
  bool json = false;
};

Writer& writer() {
  static Writer w;
  return w;
}

spdlog::level::level_enum spd(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      break;
  }
  return spdlog::level::err;
}

/// JSON string body: quotes, backslashes and control bytes escaped, so that outside text cannot
/// forge a line.
std::string escaped(std::string_view text, bool json) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (json && (c == '"' || c == '\\')) {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += json ? fmt::format("\\u{:04x}", byte) : fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

void start(const Options& options) {
  stop();
  auto& w = writer();
  const std::lock_guard lock{w.mutex};
  w.pool = std::make_shared<spdlog::details::thread_pool>(options.queue, 1);
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  w.logger = std::make_shared<spdlog::async_logger>(
      "koordlet", std::move(sink), w.pool, spdlog::async_overflow_policy::overrun_oldest);
  w.json = options.json;
  w.logger->set_level(spd(options.level));
  w.logger->set_formatter(std::make_unique<spdlog::pattern_formatter>(
      options.json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})"
                   : "%Y-%m-%dT%H:%M:%S.%eZ %l %v",
      spdlog::pattern_time_type::utc));
  w.logger->flush_on(spdlog::level::warn);
}

void stop() {
  auto& w = writer();
  const std::lock_guard lock{w.mutex};
  if (w.logger) w.logger->flush();
  w.logger.reset();
  w.pool.reset();  // joins the writer after it has written what is queued
}

void line(Level level, std::string_view subject, std::string_view text) {
  std::shared_ptr<spdlog::logger> logger;
  bool json = false;
  {
    auto& w = writer();
    const std::lock_guard lock{w.mutex};
    logger = w.logger;
    json = w.json;
  }
  const auto body =
      json ? fmt::format(
                 R"("subject":"{}","text":"{}")", escaped(subject, true), escaped(text, true))
           : fmt::format("{}: {}", escaped(subject, false), escaped(text, false));
  if (logger) {
    logger->log(spd(level), "{}", body);
  } else if (level >= Level::kWarn) {
    std::fprintf(stderr, "%s\n", body.c_str());
  }
}

std::uint64_t dropped() {
  auto& w = writer();
  const std::lock_guard lock{w.mutex};
  return w.pool ? w.pool->overrun_counter() : 0;
}

}  // namespace koordlet::log
