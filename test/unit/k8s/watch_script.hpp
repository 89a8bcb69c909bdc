#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "reflector_bed.hpp"

namespace koordlet::test {

namespace asio = boost::asio;

inline constexpr const char* kPods = ReflectorBed::kPods;

inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// What a scripted watch does after its head.
struct WatchScript {
  std::vector<std::string> pieces;
  enum class End { kClean, kSilence, kTruncate, kReset } end = End::kClean;
};

inline asio::awaitable<bool> play(std::shared_ptr<const WatchScript> script, FakeConnection& c) {
  FakeAnswer head;
  bool open = co_await c.start_chunks(std::move(head));
  for (const auto& piece : script->pieces) {
    if (!open) break;
    std::string copy = piece;
    open = co_await c.write_chunk(std::move(copy));
  }
  switch (script->end) {
    case WatchScript::End::kClean:
      co_await c.end_chunks();
      break;
    case WatchScript::End::kSilence:
      co_await c.silence();
      break;
    case WatchScript::End::kTruncate:
      c.truncate();
      break;
    case WatchScript::End::kReset:
      c.reset();
      break;
  }
  co_return true;
}

inline FakeApiServer::Handler playing(WatchScript script) {
  return [script = std::make_shared<const WatchScript>(std::move(script))](FakeConnection& c) {
    return play(script, c);
  };
}

inline std::string pod_event(const std::string& type,
                             const std::string& name,
                             const std::string& version) {
  return api_event(type,
                   R"({"metadata":{"name":")" + name + R"(","namespace":"d","uid":"uid-)" + name +
                       R"(","resourceVersion":")" + version + R"("}})");
}

/// resourceVersion that the n-th watch asked for, from 0.
inline std::string asked_version(ReflectorBed& bed, std::size_t n) {
  std::size_t seen = 0;
  for (const auto& request : bed.server.http().requests()) {
    const auto mark = request.target.find('?');
    if (mark == std::string::npos || !has(request.target, "watch=1")) continue;
    if (seen++ == n) return parse_api_query(request.target.substr(mark + 1))["resourceVersion"];
  }
  return {};
}

}  // namespace koordlet::test
