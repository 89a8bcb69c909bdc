#include "runtime/cri_messages.hpp"

#include <doctest/doctest.h>

#include "wire.hpp"

namespace koordlet::test {
namespace {

using namespace std::string_literals;
using runtime::ContainerStats;
using runtime::StatsList;
using std::chrono::nanoseconds;
using Kind = StatsList::Kind;

constexpr auto kContainers = Kind::kContainers;
constexpr auto kSandboxes = Kind::kPodSandboxes;

std::vector<ContainerStats> parsed(Kind kind, const WireMessage& list) {
  auto out = parse_stats(kind, list.str());
  REQUIRE(out.has_value());
  return std::move(*out);
}

ContainerStats only(Kind kind, const WireMessage& entry) {
  auto out = parsed(kind, WireMessage{}.part(1, entry));
  REQUIRE(out.size() == 1);
  return out[0];
}

WireMessage named() { return WireMessage{}.part(1, WireMessage{}.bytes(1, "abc")); }

}  // namespace

TEST_SUITE("cri_messages") {
  TEST_CASE("a container as a runtime fills it") {
    const auto s = only(kContainers, container_entry(5));
    CHECK(s.id == "id5");
    CHECK(s.name == "app");
    CHECK(s.pod_uid == "uid-5");
    CHECK(s.at == WallTime{nanoseconds{1'700'000'000'000'000'005}});
    CHECK(s.cpu_usage == nanoseconds{1005});
    CHECK(s.memory_working_set == Bytes{2005});
    CHECK(s.memory_usage == Bytes{3005});
    CHECK(s.memory_rss == Bytes{4005});
  }

  TEST_CASE("a pod sandbox: the linux part's CPU and memory") {
    const auto cpu = WireMessage{}.number(1, 77).boxed(2, 1000);
    const auto memory = WireMessage{}.boxed(2, 2000).boxed(4, 3000).boxed(5, 4000);
    const auto metadata =
        WireMessage{}.bytes(1, "pod-1").bytes(2, "uid-1").bytes(3, "default").number(4, 2);
    const auto attributes = WireMessage{}.bytes(1, "abc").part(2, metadata).entry(3, "app", "web");
    const auto container = WireMessage{}.part(1, WireMessage{}.bytes(1, "inner"));
    const auto linux_part = WireMessage{}
                                .part(1, cpu)
                                .part(2, memory)
                                .part(3, WireMessage{}.number(1, 5))
                                .part(5, container);
    const auto s = only(kSandboxes, WireMessage{}.part(1, attributes).part(2, linux_part));
    CHECK(s.id == "abc");
    CHECK(s.name.empty());
    CHECK(s.pod_uid == "uid-1");
    CHECK(s.at == WallTime{nanoseconds{77}});
    CHECK(s.cpu_usage == nanoseconds{1000});
    CHECK(s.memory_working_set == Bytes{2000});
    CHECK(s.memory_usage == Bytes{3000});
    CHECK(s.memory_rss == Bytes{4000});
  }

  TEST_CASE("what is not there is unknown, what is zero is zero") {
    for (const auto kind : {kContainers, kSandboxes}) {
      const auto none = only(kind, named());
      CHECK(none.name.empty());
      CHECK(none.pod_uid.empty());
      CHECK_FALSE(none.cpu_usage);
      CHECK_FALSE(none.memory_working_set);
      CHECK_FALSE(none.memory_usage);
      CHECK_FALSE(none.memory_rss);
    }
    const auto empty = only(kContainers, named().part(2, WireMessage{}).part(3, WireMessage{}));
    CHECK_FALSE(empty.cpu_usage);
    CHECK_FALSE(empty.memory_usage);
    const auto zero = only(
        kContainers, named().part(2, WireMessage{}.boxed(2, 0)).part(3, WireMessage{}.boxed(4, 0)));
    CHECK(zero.cpu_usage == nanoseconds{0});
    CHECK(zero.memory_usage == Bytes{0});
    CHECK_FALSE(zero.memory_rss);
  }

  TEST_CASE("a figure beyond the signed range is unknown") {
    constexpr auto kMost = 0x7fffffffffffffffu;
    const auto fits =
        only(kContainers,
             named().part(2, WireMessage{}.boxed(2, kMost)).part(3, WireMessage{}.boxed(4, kMost)));
    CHECK(fits.cpu_usage == nanoseconds{INT64_MAX});
    CHECK(fits.memory_usage == Bytes{INT64_MAX});
    const auto over = only(kContainers,
                           named()
                               .part(2, WireMessage{}.boxed(2, kMost + 1))
                               .part(3, WireMessage{}.boxed(4, kMost + 1).boxed(5, 1)));
    CHECK_FALSE(over.cpu_usage);
    CHECK_FALSE(over.memory_usage);
    CHECK(over.memory_rss == Bytes{1});
  }

  TEST_CASE("an empty list, an entry without an id, fields that are not known") {
    CHECK(parsed(kContainers, WireMessage{}).empty());
    CHECK(parsed(kSandboxes, WireMessage{}).empty());
    const auto list = WireMessage{}
                          .part(1, WireMessage{})
                          .number(7, 5)
                          .raw("\x49"s + "12345678")  // field 9, 64 bits
                          .raw("\x4d"s + "1234")      // field 9, 32 bits
                          .bytes(16, "later")
                          .part(1, container_entry(1).bytes(99, "later").number(100, 1));
    const auto out = parsed(kContainers, list);
    REQUIRE(out.size() == 1);
    CHECK(out[0].id == "id1");
  }

  TEST_CASE("a list cut at any byte is kParse, or the entries before the cut") {
    const auto one = WireMessage{}.part(1, container_entry(1)).str();
    const auto whole = one + WireMessage{}.part(1, container_entry(2)).str();
    for (std::size_t size = 0; size < whole.size(); ++size) {
      CAPTURE(size);
      const auto out = parse_stats(kContainers, whole.substr(0, size));
      if (size == 0 || size == one.size()) {
        REQUIRE(out.has_value());
        CHECK(out->size() == (size == 0 ? 0u : 1u));
      } else {
        REQUIRE(out.has_error());
        CHECK(out.error().code == Errc::kParse);
      }
    }
  }

  TEST_CASE("bytes that are no message are kParse and name it") {
    for (const auto& bytes : {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s,  // endless tag
                              "\0"s,                                            // field 0
                              "\x02\x01x"s,                                     // field 0, bytes
                              "\x0b"s,                                          // a group
                              "\x0f"s,                                          // wire type 7
                              "\x0a\x05x"s,                                     // longer than it is
                              "\x0a\xff\xff\xff\xff\x0f"s,                      // 4 GiB
                              "\x0a\x02\x0a\x7f"s,          // an attribute longer than its entry
                              "\x0a\x04\x0a\x02\x0a\x09"s,  // an id longer than its attributes
                              "\x0a\x05\x0a\x03\x0a\x01\xff"s,  // an id that is not UTF-8
                              "<html>not found</html>"s}) {
      CAPTURE(bytes);
      for (const auto kind : {kContainers, kSandboxes}) {
        const auto out = parse_stats(kind, bytes);
        REQUIRE(out.has_error());
        CHECK(out.error().code == Errc::kParse);
        CHECK(out.error().context.find(kind == kContainers
                                           ? "ListContainerStatsResponse"
                                           : "ListPodSandboxStatsResponse") != std::string::npos);
      }
    }
  }

  TEST_CASE("groups nested without end are kParse") {
    // Wire type 3 is long out of use, but a parser follows it.
    const auto out =
        parse_stats(kContainers, WireMessage{}.bytes(1, std::string(5000, '\x3b')).str());
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kParse);
  }

  TEST_CASE("a list is taken in pieces, in its order") {
    WireMessage bytes;
    for (int n = 0; n < 25; ++n) bytes.part(1, container_entry(n));
    StatsList list{kContainers, bytes.str()};
    std::vector<ContainerStats> out;
    for (const std::size_t size : {10u, 20u}) {
      const auto more = list.take(10, out);
      REQUIRE(more.has_value());
      CHECK(*more);
      CHECK(out.size() == size);
    }
    const auto last = list.take(10, out);
    REQUIRE(last.has_value());
    CHECK_FALSE(*last);
    REQUIRE(out.size() == 25);
    for (int n = 0; n < 25; ++n) CHECK(out[n].id == "id" + std::to_string(n));
    const auto after = list.take(10, out);
    REQUIRE(after.has_value());
    CHECK_FALSE(*after);
    CHECK(out.size() == 25);
  }
}

}  // namespace koordlet::test
