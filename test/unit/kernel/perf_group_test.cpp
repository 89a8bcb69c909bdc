#include "kernel/perf_group.hpp"

#include <cstring>
#include <filesystem>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using test::FakeTree;

namespace {

std::vector<std::byte> bytes_of(const std::vector<std::uint64_t>& words) {
  std::vector<std::byte> out(words.size() * sizeof(std::uint64_t));
  if (!words.empty()) std::memcpy(out.data(), words.data(), out.size());
  return out;
}

Result<PerfGroupReading> parse(const std::vector<std::uint64_t>& words) {
  return parse_perf_group(bytes_of(words));
}

constexpr std::uint64_t kSecond = 1'000'000'000;

/// One CPU's reading of events with the ids 1, 2, ...
PerfCpuReading cpu(std::uint64_t enabled,
                   std::uint64_t running,
                   const std::vector<std::uint64_t>& values) {
  PerfCpuReading out;
  out.reading.enabled_ns = enabled;
  out.reading.running_ns = running;
  for (const auto v : values) {
    out.ids.push_back(out.ids.size() + 1);
    out.reading.values.push_back({v, out.ids.back()});
  }
  return out;
}

std::size_t open_files() {
  const std::filesystem::directory_iterator all{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

HostRoots rooted(const FakeTree& tree) {
  HostRoots roots;
  roots.cgroup = tree.path("cg");
  roots.proc = tree.path("proc");
  roots.sys = tree.path("sys");
  return roots;
}

constexpr const char* kBound =
    "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t2\t1\nperf_event\t9\t1\t1\n";
constexpr const char* kUnified =
    "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t1\t2\t1\nperf_event\t0\t1\t1\n";

CgroupPath path(std::string_view text) { return CgroupPath::parse(text).value(); }

}  // namespace

TEST_SUITE("perf_group/decode") {
  TEST_CASE("two values with their ids, and the times") {
    const auto r = parse({2, 10 * kSecond, 5 * kSecond, 1000, 71, 2000, 72});
    REQUIRE(r.has_value());
    CHECK(r->enabled_ns == 10 * kSecond);
    CHECK(r->running_ns == 5 * kSecond);
    REQUIRE(r->values.size() == 2);
    CHECK(r->values[0].value == 1000);
    CHECK(r->values[0].id == 71);
    CHECK(r->values[1].value == 2000);
    CHECK(r->values[1].id == 72);
  }
  TEST_CASE("more bytes than nr asks for are not looked at; no values are none") {
    CHECK(parse({1, 1, 1, 5, 6, 7, 8})->values.size() == 1);
    CHECK(parse({0, 1, 1})->values.empty());
  }
  TEST_CASE("every cut of a reading is an error, never a value") {
    const auto whole = bytes_of({2, 10, 5, 1000, 71, 2000, 72});
    for (std::size_t n = 0; n < whole.size(); ++n) {
      CAPTURE(n);
      const auto r = parse_perf_group(std::span{whole}.first(n));
      REQUIRE(r.has_error());
      CHECK(r.error().code == Errc::kParse);
    }
    CHECK(parse_perf_group(whole).has_value());
  }
  TEST_CASE("an nr above 64, or one whose size does not fit 64 bits, is refused") {
    std::vector<std::uint64_t> words(3 + 2 * 65);
    words[0] = 64;
    CHECK(parse(words)->values.size() == 64);
    for (const std::uint64_t nr : {std::uint64_t{65},
                                   std::uint64_t{1} << 32,
                                   std::uint64_t{1} << 60,
                                   std::uint64_t{1} << 63,
                                   ~std::uint64_t{0}}) {
      CAPTURE(nr);
      words[0] = nr;
      REQUIRE(parse(words).has_error());
      CHECK(parse(words).error().code == Errc::kParse);
    }
  }
  TEST_CASE("bytes that stand at any address") {
    auto bytes = bytes_of({1, 2, 3, 4, 5});
    bytes.insert(bytes.begin(), std::byte{0});
    CHECK(parse_perf_group(std::span{bytes}.subspan(1))->values[0].value == 4);
  }
  TEST_CASE("random bytes never crash") {
    std::mt19937 random{37};
    for (int i = 0; i < 2000; ++i) {
      std::vector<std::byte> bytes(random() % 200);
      for (auto& b : bytes) b = static_cast<std::byte>(random());
      if (bytes.size() > 8) std::memset(bytes.data() + 1, 0, 7);  // an nr of one byte
      const auto r = parse_perf_group(bytes);
      if (r) CHECK(24 + 16 * r->values.size() <= bytes.size());
    }
  }
}

TEST_SUITE("perf_group/scaling") {
  TEST_CASE("37: 1000 while it ran half of the time are 2000") {
    CHECK(scaled(1000, 100, 50).value() == doctest::Approx(2000));
  }
  TEST_CASE("37: a group that never ran has no count") {
    CHECK_FALSE(scaled(0, 100, 0));
    CHECK_FALSE(scaled(5, 100, 0));
    CHECK_FALSE(scaled(0, 0, 0));
    CHECK_FALSE(scaled(5, 0, 7));
  }
  TEST_CASE("a group that ran all the time is exact, and is never scaled down") {
    CHECK(scaled(123'456'789, kSecond, kSecond).value() == 123'456'789);
    CHECK(scaled(1000, 100, 101).value() == 1000);
  }
  TEST_CASE("the largest counters are no overflow") {
    const auto most = ~std::uint64_t{0};
    CHECK(scaled(most, most, 1).value() == doctest::Approx(3.4028e38).epsilon(0.001));
  }
  TEST_CASE(
      "T20: CPU 0 multiplexed by half, CPU 1 not: 5.0e9 cycles, 4.0e9 instructions, CPI 1.25") {
    const std::vector<PerfCpuReading> cpus{
        cpu(10 * kSecond, 5 * kSecond, {1'000'000'000, 1'000'000'000}),
        cpu(10 * kSecond, 10 * kSecond, {3'000'000'000, 2'000'000'000})};
    const auto counts = sum_counts(cpus, 2);
    REQUIRE(counts.has_value());
    const double cycles = counts->values.at(0).value(), instructions = counts->values.at(1).value();
    CHECK(cycles == doctest::Approx(5.0e9));
    CHECK(instructions == doctest::Approx(4.0e9));
    CHECK(cycles / instructions == doctest::Approx(1.25));
  }
  TEST_CASE("values are matched by id, whatever their order") {
    auto one = cpu(10, 10, {100, 200});
    std::swap(one.reading.values[0], one.reading.values[1]);
    const auto counts = sum_counts(std::vector{one}, 2);
    CHECK(counts->values == std::vector<std::optional<double>>{100.0, 200.0});
  }
  TEST_CASE("a reading without the value of an event is refused, not taken for 0") {
    auto one = cpu(10, 10, {100, 200});
    one.reading.values[1].id = 99;
    REQUIRE(sum_counts(std::vector{one}, 2).has_error());
    CHECK(sum_counts(std::vector{one}, 2).error().code == Errc::kParse);
    one = cpu(10, 10, {100, 200});
    one.reading.values.pop_back();
    CHECK(sum_counts(std::vector{one}, 2).has_error());
    CHECK(sum_counts(std::vector{cpu(10, 10, {100})}, 2).has_error());
  }
  TEST_CASE("no task anywhere is 0; time without counters is unknown") {
    const std::vector<PerfCpuReading> idle{cpu(0, 0, {0}), cpu(0, 0, {0})};
    CHECK(sum_counts(idle, 1)->values.at(0) == 0.0);
    const std::vector<PerfCpuReading> starved{cpu(10, 0, {0}), cpu(0, 0, {0})};
    CHECK_FALSE(sum_counts(starved, 1)->values.at(0));
    const std::vector<PerfCpuReading> one_ran{cpu(10, 0, {0}), cpu(10, 5, {7})};
    CHECK(sum_counts(one_ran, 1)->values.at(0) == 14.0);
    CHECK(sum_counts({}, 1)->values.at(0) == 0.0);
  }
}

TEST_SUITE("perf_group/open") {
  TEST_CASE("a name that libpfm4 does not know is not found, and named") {
    const auto before = open_files();
    for (const char* name : {"no-such-event", "", "cycles,instructions", "cycles:zz", "::"}) {
      CAPTURE(name);
      const auto r = probe_perf_events({{name}});
      REQUIRE(r.has_error());
      CHECK(r.error().code == Errc::kNotFound);
      CHECK(r.error().context.find(fmt::format("'{}'", name)) != std::string::npos);
      const FakeTree tree;
      const auto group = PerfGroup::open(tree.root(), {{name}}, CpuSet::range(0, 0));
      REQUIRE(group.has_error());
      CHECK(group.error().code == Errc::kNotFound);
    }
    CHECK(open_files() == before);
  }
  TEST_CASE("no event, more than 64, and no CPU are out of range") {
    const FakeTree tree;
    const std::vector<PerfEventSpec> many(65, PerfEventSpec{"task-clock"});
    const auto all = CpuSet::range(0, 0);
    CHECK(PerfGroup::open(tree.root(), {}, all).error().code == Errc::kRange);
    CHECK(PerfGroup::open(tree.root(), many, all).error().code == Errc::kRange);
    CHECK(PerfGroup::open(tree.root(), {{"task-clock"}}, CpuSet{}).error().code == Errc::kRange);
    CHECK(probe_perf_events({}).error().code == Errc::kRange);
  }
  TEST_CASE("a cgroup that is not there is gone, and named") {
    const FakeTree tree;
    const auto r = PerfGroup::open(tree.path("pod-1"), {{"task-clock"}}, CpuSet::range(0, 0));
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kGone);
    CHECK(r.error().context.find("pod-1") != std::string::npos);
  }
}

TEST_SUITE("perf_group/events") {
  TEST_CASE("Intel counts cycles, instructions, LLC references and misses") {
    const FakeTree tree{{"proc/cpuinfo", "vendor_id\t: GenuineIntel\nmodel name\t: X\n"}};
    CHECK(interference_events(rooted(tree)).size() == 4);
  }
  TEST_CASE("where the generic cache events mean another cache only CPI is counted") {
    for (const char* info : {"vendor_id\t: AuthenticAMD\n",
                             "vendor_id\t: HygonGenuine\n",
                             "CPU implementer\t: 0x41\n",
                             ""}) {
      CAPTURE(info);
      const FakeTree tree{{"proc/cpuinfo", info}};
      CHECK(interference_events(rooted(tree)).size() == 2);
    }
    CHECK(interference_events(rooted(FakeTree{})).size() == 2);
  }
}

TEST_SUITE("perf_group/directory") {
  TEST_CASE("v2: the cgroup itself") {
    const FakeTree tree;
    CHECK(perf_cgroup_directory(rooted(tree), CgroupVersion::kV2, path("kubepods/pod1")) ==
          tree.path("cg/kubepods/pod1"));
  }
  TEST_CASE("v1: below the perf_event hierarchy") {
    const FakeTree tree{{"proc/cgroups", kBound}};
    tree.mkdir("cg/perf_event/kubepods");
    tree.mkdir("cg/unified/kubepods");
    CHECK(perf_cgroup_directory(rooted(tree), CgroupVersion::kV1, path("kubepods")) ==
          tree.path("cg/perf_event/kubepods"));
    CHECK(perf_cgroup_directory(rooted(tree), CgroupVersion::kV1, CgroupPath{}) ==
          tree.path("cg/perf_event"));
  }
  TEST_CASE("v1 without that hierarchy: the unified one, for cgroups that have tasks there") {
    const FakeTree tree{{"proc/cgroups", kUnified},
                        {"cg/unified/full/cgroup.events", "populated 1\nfrozen 0\n"},
                        {"cg/unified/empty/cgroup.events", "populated 0\nfrozen 0\n"}};
    tree.mkdir("cg/unified/damaged");
    const auto at = [&](std::string_view text) {
      return perf_cgroup_directory(rooted(tree), CgroupVersion::kV1, path(text));
    };
    CHECK(at("full") == tree.path("cg/unified/full"));
    CHECK(at("") == tree.path("cg/unified"));
    CHECK_FALSE(at("empty"));
    CHECK_FALSE(at("damaged"));
    CHECK_FALSE(at("missing"));
  }
  TEST_CASE("v1 where perf_event is mounted elsewhere, or the kernel has none, or does not say") {
    for (const char* cgroups : {kBound, "cpu\t1\t2\t1\n", "perf_event\n", ""}) {
      CAPTURE(cgroups);
      const FakeTree tree{{"proc/cgroups", cgroups}};
      tree.mkdir("cg/unified");
      CHECK_FALSE(perf_cgroup_directory(rooted(tree), CgroupVersion::kV1, CgroupPath{}));
    }
    const FakeTree bare;
    bare.mkdir("cg/unified");
    CHECK_FALSE(perf_cgroup_directory(rooted(bare), CgroupVersion::kV1, CgroupPath{}));
  }
}
