#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include "runtime/cri_client.hpp"
#include "support/async.hpp"
#include "support/skip.hpp"

namespace koordlet::test {
namespace {

using runtime::ContainerStats;
using runtime::CriClient;
using Stats = Result<std::vector<ContainerStats>>;

constexpr const char* kNoRuntime = "KOORDLET_CRI_SOCKET names no container runtime's socket";

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string{} : std::string{value};
}

/// doctest wants the words of a failure at once, of a success too.
template <class T>
std::string what(const Result<T>& result) {
  return result ? std::string{} : result.error().context;
}

/// A client of the runtime that KOORDLET_CRI_SOCKET names.
struct RealRuntime {
  boost::asio::io_context io;
  std::string socket = from_environment("KOORDLET_CRI_SOCKET");
  CriClient client{io.get_executor(), {socket}};

  Stats list() { return run(io, client.list_container_stats()); }
};

const ContainerStats* named(const Stats& stats, const std::string& name) {
  const auto at =
      std::find_if(stats->begin(), stats->end(), [&](const auto& s) { return s.name == name; });
  return at == stats->end() ? nullptr : &*at;
}

}  // namespace

TEST_SUITE("live/cri") {
  TEST_CASE("a real runtime tells its version and its containers") {
    RealRuntime t;
    KOORDLET_SKIP_UNLESS(!t.socket.empty(), kNoRuntime);
    const auto version = run(t.io, t.client.version());
    REQUIRE_MESSAGE(version.has_value(), what(version));
    CHECK((version->api == "v1" || version->api == "v1alpha2"));
    CHECK_FALSE(version->runtime_name.empty());
    CHECK_FALSE(version->runtime_version.empty());
    const auto stats = t.list();
    REQUIRE_MESSAGE(stats.has_value(), what(stats));
    for (const auto& s : *stats) {
      CAPTURE(s.id);
      CHECK_FALSE(s.id.empty());
      if (s.cpu_usage) CHECK(s.at > WallTime{});
    }
    MESSAGE(version->runtime_name,
            " ",
            version->runtime_version,
            ", runtime.",
            version->api,
            ": ",
            stats->size(),
            " containers");
  }

  TEST_CASE("a real runtime's pod sandboxes, or that it has no such call") {
    RealRuntime t;
    KOORDLET_SKIP_UNLESS(!t.socket.empty(), kNoRuntime);
    const auto stats = run(t.io, t.client.list_pod_sandbox_stats());
    if (!stats) {
      CHECK_MESSAGE(stats.error().code == Errc::kNotSupported, stats.error().context);
      MESSAGE(stats.error().context);
      return;
    }
    for (const auto& s : *stats) CHECK_FALSE(s.id.empty());
    MESSAGE(stats->size(), " pod sandboxes");
  }

  TEST_CASE("100 lists at once from a real runtime") {
    RealRuntime t;
    KOORDLET_SKIP_UNLESS(!t.socket.empty(), kNoRuntime);
    int good = 0, left = 100;
    for (int i = 0; i < 100; ++i) {
      boost::asio::co_spawn(t.io, t.client.list_container_stats(), [&](auto failure, Stats stats) {
        good += !failure && stats ? 1 : 0;
        if (--left == 0) t.io.stop();
      });
    }
    t.io.run();
    CHECK(good == 100);
  }

  TEST_CASE("the container that KOORDLET_CRI_CONTAINER names, and its counters") {
    RealRuntime t;
    KOORDLET_SKIP_UNLESS(!t.socket.empty(), kNoRuntime);
    const auto name = from_environment("KOORDLET_CRI_CONTAINER");
    KOORDLET_SKIP_UNLESS(!name.empty(), "KOORDLET_CRI_CONTAINER names no running container");
    const auto first = t.list();
    REQUIRE_MESSAGE(first.has_value(), what(first));
    const auto* before = named(first, name);
    REQUIRE(before != nullptr);
    CHECK_FALSE(before->pod_uid.empty());
    REQUIRE(before->cpu_usage.has_value());
    REQUIRE(before->memory_working_set.has_value());
    CHECK(before->memory_working_set->v > 0);
    const auto second = t.list();
    REQUIRE_MESSAGE(second.has_value(), what(second));
    const auto* after = named(second, name);
    REQUIRE(after != nullptr);
    REQUIRE(after->cpu_usage.has_value());
    CHECK(*after->cpu_usage >= *before->cpu_usage);
    CHECK(after->at >= before->at);
    MESSAGE(before->cpu_usage->count(),
            " ns of CPU, working set ",
            before->memory_working_set->v,
            " bytes, rss ",
            before->memory_rss ? before->memory_rss->v : -1,
            " bytes");
  }
}

}  // namespace koordlet::test
