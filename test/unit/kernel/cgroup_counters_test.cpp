#include "kernel/cgroup_counters.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using std::chrono::nanoseconds;
using test::FakeTree;

namespace {

constexpr auto kV1 = CgroupVersion::kV1;
constexpr auto kV2 = CgroupVersion::kV2;

HostRoots rooted(const FakeTree& tree) {
  HostRoots roots;
  roots.cgroup = tree.root();
  return roots;
}
const CgroupPath kPod = CgroupPath::parse("kubepods/pod1").value();

constexpr const char* kCpuStatV2 =
    "usage_usec 5000000\nuser_usec 4000000\nsystem_usec 1000000\nnice_usec 0\n"
    "core_sched.force_idle_usec 0\nnr_periods 150\nnr_throttled 35\nthrottled_usec 1234\n"
    "nr_bursts 0\nburst_usec 0\n";

}  // namespace

TEST_SUITE("cgroup_counters/cpu") {
  TEST_CASE("T1: v1 counts nanoseconds, v2 microseconds") {
    const FakeTree v1{{"cpuacct/kubepods/pod1/cpuacct.usage", "120956289000\n"}};
    CgroupCounters one{rooted(v1), kV1};
    CHECK(one.cpu(kPod).value().usage == nanoseconds{120'956'289'000});
    v1.write("cpuacct/kubepods/pod1/cpuacct.usage", "123456789000\n");
    CHECK(one.cpu(kPod).value().usage == nanoseconds{123'456'789'000});

    const FakeTree v2{{"kubepods/pod1/cpu.stat", kCpuStatV2}};
    CgroupCounters two{rooted(v2), kV2};
    CHECK(two.cpu(kPod).value().usage == nanoseconds{5'000'000'000});
  }

  TEST_CASE("row 35: a difference of 1.5e9 ns is kept to the nanosecond") {
    const FakeTree tree{{"cpuacct/kubepods/pod1/cpuacct.usage", "1\n"}};
    CgroupCounters counters{rooted(tree), kV1};
    const auto before = counters.cpu(kPod).value().usage;
    tree.write("cpuacct/kubepods/pod1/cpuacct.usage", "1500000001\n");
    CHECK(counters.cpu(kPod).value().usage - before == nanoseconds{1'500'000'000});
  }

  TEST_CASE("damaged content is kParse and names the file") {
    const FakeTree tree{{"cpuacct/kubepods/pod1/cpuacct.usage", "12x\n"}};
    CgroupCounters counters{rooted(tree), kV1};
    for (const char* body : {"12x\n", "-1\n", "\n", "18446744073709551615\n", "1 2\n"}) {
      CAPTURE(body);
      tree.write("cpuacct/kubepods/pod1/cpuacct.usage", body);
      const auto r = counters.cpu(kPod);
      REQUIRE(r.has_error());
      CHECK(r.error().code == Errc::kParse);
      CHECK(r.error().context.starts_with(tree.path("cpuacct/kubepods/pod1/cpuacct.usage")));
    }
  }

  TEST_CASE("v2: a missing or unreadable usage_usec is named") {
    const FakeTree tree;
    CgroupCounters counters{rooted(tree), kV2};
    for (const char* body : {"user_usec 1\n",
                             "usage_usec\n",
                             "usage_usec x\n",
                             "xusage_usec 1\n",
                             "usage_usec_x 1\n",
                             "usage_usec 9223372036854775807\n"}) {
      CAPTURE(body);
      tree.write("kubepods/pod1/cpu.stat", body);
      const auto r = counters.cpu(kPod);
      REQUIRE(r.has_error());
      CHECK(r.error().code == Errc::kParse);
    }
    tree.write("kubepods/pod1/cpu.stat", "user_usec 1\n");
    CHECK(counters.cpu(kPod).error().context.find("usage_usec") != std::string::npos);
  }
}

TEST_SUITE("cgroup_counters/throttle") {
  TEST_CASE("T4: the counters of which the throttled ratio is made") {
    const FakeTree tree{
        {"cpu/kubepods/pod1/cpu.stat", "nr_periods 1000\nnr_throttled 40\nthrottled_time 5\n"}};
    CgroupCounters counters{rooted(tree), kV1};
    const auto before = counters.throttle(kPod).value();
    tree.write("cpu/kubepods/pod1/cpu.stat",
               "nr_periods 1010\nnr_throttled 43\nthrottled_time 6\n");
    const auto after = counters.throttle(kPod).value();
    CHECK(after.periods - before.periods == 10);
    CHECK(after.throttled - before.throttled == 3);  // 0.3
  }

  TEST_CASE("v1 and v2 give the same meaning") {
    const FakeTree v1{{"cpu/kubepods/pod1/cpu.stat",
                       "nr_periods 150\nnr_throttled 35\nthrottled_time 1234000\nnr_bursts 0\n"
                       "burst_time 0\n"}};
    const FakeTree v2{{"kubepods/pod1/cpu.stat", kCpuStatV2}};
    CgroupCounters one{rooted(v1), kV1}, two{rooted(v2), kV2};
    for (auto* counters : {&one, &two}) {
      const auto t = counters->throttle(kPod).value();
      CHECK(t.periods == 150);
      CHECK(t.throttled == 35);
      CHECK(t.throttled_time == nanoseconds{1'234'000});
    }
  }

  TEST_CASE("v2 without the cpu controller has usage, and throttling is not supported") {
    const FakeTree tree{{"kubepods/pod1/cpu.stat", "usage_usec 7\nuser_usec 7\nsystem_usec 0\n"}};
    CgroupCounters counters{rooted(tree), kV2};
    CHECK(counters.throttle(kPod).error().code == Errc::kNotSupported);
    CHECK(counters.cpu(kPod).value().usage == nanoseconds{7000});
  }

  TEST_CASE("a half-missing set of keys is damage, and the missing key is named") {
    const FakeTree v2{{"kubepods/pod1/cpu.stat", "usage_usec 7\nnr_periods 1\nnr_throttled 0\n"}};
    const auto two = CgroupCounters{rooted(v2), kV2}.throttle(kPod);
    REQUIRE(two.has_error());
    CHECK(two.error().code == Errc::kParse);
    CHECK(two.error().context.find("throttled_usec") != std::string::npos);
    const FakeTree v1{{"cpu/kubepods/pod1/cpu.stat", "nr_throttled 0\nthrottled_time 0\n"}};
    const auto one = CgroupCounters{rooted(v1), kV1}.throttle(kPod);
    REQUIRE(one.has_error());
    CHECK(one.error().code == Errc::kParse);
    CHECK(one.error().context.find("nr_periods") != std::string::npos);
  }
}

TEST_SUITE("cgroup_counters/memory") {
  // v1: the plain keys hold this cgroup alone and must not be taken.
  constexpr const char* kV1Stat =
      "cache 1\nrss 2\ninactive_anon 3\nactive_anon 4\ninactive_file 5\nactive_file 6\n"
      "unevictable 7\nhierarchical_memory_limit 9223372036854771712\ntotal_cache 240000000\n"
      "total_rss 157286400\ntotal_inactive_anon 104857600\ntotal_active_anon 52428800\n"
      "total_inactive_file 209715200\ntotal_active_file 31457280\ntotal_unevictable 4096\n";
  constexpr const char* kV2Stat =
      "anon 157286400\nfile 240000000\nkernel 1\ninactive_anon 104857600\nactive_anon 52428800\n"
      "new_key_of_a_later_kernel 9\ninactive_file 209715200\nactive_file 31457280\n"
      "unevictable 4096\nslab 3\n";

  TEST_CASE("T3: with and without page cache, on v1 and v2") {
    const FakeTree v1{{"memory/kubepods/pod1/memory.stat", kV1Stat},
                      {"memory/kubepods/pod1/memory.usage_in_bytes", "420000000\n"}};
    const FakeTree v2{{"kubepods/pod1/memory.stat", kV2Stat},
                      {"kubepods/pod1/memory.current", "420000000\n"}};
    CgroupCounters one{rooted(v1), kV1}, two{rooted(v2), kV2};
    for (auto* counters : {&one, &two}) {
      const auto stat = counters->memory(kPod).value();
      CHECK(stat.without_cache() == Bytes{157'290'496});
      CHECK(stat.with_cache() == Bytes{398'462'976});
      const auto usage = counters->memory_usage(kPod).value();
      CHECK(usage - stat.inactive_file == Bytes{210'284'800});  // the kubelet's working set
    }
  }

  TEST_CASE("5.5: 520 without cache, 1000 with it") {
    const FakeTree tree{{"kubepods/pod1/memory.stat",
                         "inactive_anon 100\nactive_anon 400\nunevictable 20\nactive_file 300\n"
                         "inactive_file 180\n"}};
    const auto stat = CgroupCounters{rooted(tree), kV2}.memory(kPod).value();
    CHECK(stat.without_cache() == Bytes{520});
    CHECK(stat.with_cache() == Bytes{1000});
  }

  TEST_CASE("each missing key is named, and never counts as zero") {
    const FakeTree tree;
    CgroupCounters counters{rooted(tree), kV2};
    const std::string all[] = {
        "inactive_anon", "active_anon", "inactive_file", "active_file", "unevictable"};
    for (const auto& left_out : all) {
      std::string body;
      for (const auto& key : all) {
        if (key != left_out) body += key + " 1\n";
      }
      tree.write("kubepods/pod1/memory.stat", body);
      CAPTURE(left_out);
      const auto r = counters.memory(kPod);
      REQUIRE(r.has_error());
      CHECK(r.error().code == Errc::kParse);
      CHECK(r.error().context.ends_with("expected the key " + left_out));
    }
  }

  TEST_CASE("v1 needs the total_ keys") {
    const FakeTree tree{{"memory/kubepods/pod1/memory.stat", kV2Stat}};
    const auto r = CgroupCounters{rooted(tree), kV1}.memory(kPod);
    REQUIRE(r.has_error());
    CHECK(r.error().context.find("total_inactive_anon") != std::string::npos);
  }

  TEST_CASE("the root's memory.stat is never read") {
    const FakeTree v1{{"memory/memory.stat", kV1Stat}};
    const FakeTree v2{{"memory.stat", kV2Stat}};
    CgroupCounters one{rooted(v1), kV1}, two{rooted(v2), kV2};
    CHECK(one.memory({}).error().code == Errc::kNotSupported);
    CHECK(two.memory({}).error().code == Errc::kNotSupported);
    CHECK(one.open_files() == 0);
  }

  TEST_CASE("usage: damaged, negative and too large are kParse") {
    const FakeTree tree;
    CgroupCounters counters{rooted(tree), kV2};
    for (const char* body : {"max\n", "-1\n", "\n", "18446744073709551615\n"}) {
      CAPTURE(body);
      tree.write("kubepods/pod1/memory.current", body);
      CHECK(counters.memory_usage(kPod).error().code == Errc::kParse);
    }
    tree.write("kubepods/pod1/memory.current", "0\n");
    CHECK(counters.memory_usage(kPod).value() == Bytes{0});
  }
}

TEST_SUITE("cgroup_counters/cut") {
  TEST_CASE("content that is cut in a line is kParse, never a smaller number") {
    const FakeTree tree;
    CgroupCounters v1{rooted(tree), kV1}, v2{rooted(tree), kV2};
    tree.write("cpuacct/kubepods/pod1/cpuacct.usage", "1234567");  // of 123456789
    CHECK(v1.cpu(kPod).error().code == Errc::kParse);
    tree.write("memory/kubepods/pod1/memory.usage_in_bytes", "4200");
    CHECK(v1.memory_usage(kPod).error().code == Errc::kParse);
    tree.write("cpu/kubepods/pod1/cpu.stat", "nr_periods 150\nnr_throttled 35\nthrottled_time 12");
    CHECK(v1.throttle(kPod).error().code == Errc::kParse);
    tree.write("kubepods/pod1/memory.stat",
               "inactive_anon 100\nactive_anon 400\nunevictable 20\nactive_file 300\n"
               "inactive_file 18");
    CHECK(v2.memory(kPod).error().code == Errc::kParse);
    tree.write("kubepods/pod1/cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1");
    CHECK(v2.pressure(kPod, "cpu").error().code == Errc::kParse);
    tree.write("kubepods/pod1/io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4");
    CHECK(v2.io(kPod).error().code == Errc::kParse);
    tree.write("kubepods/pod1/memory.numa_stat", "anon N0=1\nfile N0=1");
    CHECK(v2.numa(kPod).error().code == Errc::kParse);
  }

  TEST_CASE("a file of many pages is read to its last key") {
    std::string body;
    for (int i = 0; i < 2000; ++i) body += fmt::format("key_of_some_later_kernel_{} {}\n", i, i);
    body += "inactive_anon 1\nactive_anon 2\ninactive_file 3\nactive_file 4\nunevictable 5\n";
    const FakeTree tree{{"kubepods/pod1/memory.stat", body}};
    CHECK(CgroupCounters{rooted(tree), kV2}.memory(kPod).value().without_cache() == Bytes{8});
  }
}

TEST_SUITE("cgroup_counters/files") {
  TEST_CASE("row 49: a removed cgroup is gone, empty content as well") {
    const FakeTree tree{{"kubepods/pod1/cpu.stat", kCpuStatV2}};
    CgroupCounters counters{rooted(tree), kV2};
    CHECK(counters.cpu(kPod).has_value());
    CHECK(counters.open_files() == 1);
    tree.remove("kubepods/pod1");
    CHECK(counters.cpu(kPod).error().code == Errc::kNotFound);
    CHECK(counters.open_files() == 0);
    tree.write("kubepods/pod1/cpu.stat", "");
    CHECK(counters.cpu(kPod).error().code == Errc::kGone);
  }

  TEST_CASE("a cgroup without the controller is kNotSupported, not gone") {
    const FakeTree tree{{"kubepods/pod1/cpu.stat", kCpuStatV2}};
    CgroupCounters counters{rooted(tree), kV2};
    CHECK(counters.memory(kPod).error().code == Errc::kNotSupported);
    CHECK(counters.memory_usage(kPod).error().code == Errc::kNotSupported);
  }

  TEST_CASE("v2: usage and throttling share one descriptor") {
    const FakeTree tree{{"kubepods/pod1/cpu.stat", kCpuStatV2}};
    CgroupCounters counters{rooted(tree), kV2};
    CHECK(counters.cpu(kPod).has_value());
    CHECK(counters.throttle(kPod).has_value());
    CHECK(counters.open_files() == 1);
  }

  TEST_CASE("forget closes everything of one cgroup") {
    const FakeTree tree{{"kubepods/pod1/cpu.stat", kCpuStatV2},
                        {"kubepods/pod1/memory.current", "1\n"},
                        {"kubepods/pod2/cpu.stat", kCpuStatV2}};
    CgroupCounters counters{rooted(tree), kV2};
    CHECK(counters.cpu(kPod).has_value());
    CHECK(counters.memory_usage(kPod));
    CHECK(counters.cpu(CgroupPath::parse("kubepods/pod2").value()).has_value());
    CHECK(counters.open_files() == 3);
    counters.forget(kPod);
    CHECK(counters.open_files() == 1);
    CHECK(counters.cpu(kPod).has_value());
  }

  TEST_CASE("the budget bounds the descriptors of all cgroups together") {
    const FakeTree tree;
    for (int i = 0; i < 10; ++i) tree.write(fmt::format("p{}/cpu.stat", i), kCpuStatV2);
    CgroupCounters counters{rooted(tree), kV2, 4};
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 10; ++i) {
        REQUIRE(counters.cpu(CgroupPath{}.child(fmt::format("p{}", i))).has_value());
      }
    }
    CHECK(counters.open_files() == 4);
  }
}
