#include "kernel/io_counters.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "kernel/cgroup_counters.hpp"
#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using koordlet::test::FakeTree;

namespace {

const CgroupPath kPod = CgroupPath::parse("kubepods/pod1").value();

HostRoots roots_of(const FakeTree& t) {
  HostRoots roots;
  roots.cgroup = t.root();
  return roots;
}

constexpr const char* kBytes =
    "8:0 Read 4096\n8:0 Write 8192\n8:0 Sync 1\n8:0 Total 12288\nTotal 12288\n";
constexpr const char* kServiced = "8:0 Read 1\n8:0 Write 2\n8:0 Discard 7\n8:0 Total 3\nTotal 3\n";

TEST_SUITE("io_counters") {
  TEST_CASE("io.stat by key, in any order, keys of iocost skipped") {
    const auto io = parse_io_stat(
        "253:0 wios=2 rbytes=10 wbytes=20 rios=1 dbytes=5 cost.usage=9 cost.wait=1\n");
    REQUIRE(io.has_value());
    CHECK(*io == std::vector<IoCounters>{{{253, 0}, 10, 20, 1, 2}});
  }
  TEST_CASE("pitfall 44: a device without values is left out, on its own line or before the next") {
    const std::vector<IoCounters> one{{{253, 0}, 10, 20, 1, 2}};
    CHECK(parse_io_stat("7:0 \n253:0 rbytes=10 wbytes=20 rios=1 wios=2\n").value() == one);
    CHECK(parse_io_stat("7:0\n253:0 rbytes=10 wbytes=20 rios=1 wios=2\n").value() == one);
    CHECK(parse_io_stat("7:0 253:0 rbytes=10 wbytes=20 rios=1 wios=2\n").value() == one);
  }
  TEST_CASE("damaged io.stat is refused") {
    for (const char* text : {"x rbytes=1\n",
                             "8:0 rbytes=x\n",
                             "8:0 rbytes=\n",
                             "8:0 rbytes=-1\n",
                             "rbytes=1 wbytes=2 rios=3 wios=4\n",
                             "8:0 rbytes=1 wbytes=2 rios=3\n",       // a value missing is not 0
                             "8:0 rbytes=1 wbytes=2 rios=3 wios=4",  // perhaps 42
                             "8:0 rbytes=1 wbytes=2 rios=3 wios=4\n8:16 rby"}) {
      CAPTURE(text);
      CHECK(parse_io_stat(text).error().code == Errc::kParse);
    }
  }
  TEST_CASE("blkio: Read and Write of each device, the totals left out") {
    CHECK(parse_blkio(kBytes, kServiced).value() ==
          std::vector<IoCounters>{{{8, 0}, 4096, 8192, 1, 2}});
    CHECK(parse_blkio("Total 0\n", "Total 0\n").value().empty());
    CHECK(parse_blkio("", "").value().empty());
  }
  TEST_CASE("a device that has lost its name is left out") {
    CHECK(parse_io_stat("(unknown) rbytes=1 wbytes=2 rios=3 wios=4\n").value().empty());
    CHECK(parse_blkio("(unknown) Read 1\nTotal 1\n", "Total 0\n").value().empty());
  }
  TEST_CASE("a device of only one of the two blkio files has no reading, and never one of 0") {
    CHECK(parse_blkio(kBytes, "Total 0\n").value().empty());
    CHECK(parse_blkio("Total 0\n", kServiced).value().empty());
  }
  TEST_CASE("damaged blkio files are refused") {
    for (const char* text : {"8:0 Read\n",
                             "8:0 Read x\n",
                             "8 Read 1\n",
                             "8:0 Read 1\n",
                             "8:0 Read 1\nTotal 1\n",
                             "8:0 Sync 1\n",
                             "8:0 Read 1\n8:0 Write 2"}) {
      CAPTURE(text);
      CHECK(parse_blkio(text, "").error().code == Errc::kParse);
      CHECK(parse_blkio("", text).error().code == Errc::kParse);
    }
  }
  TEST_CASE("a cgroup without IO has an empty file: no devices, and it is not gone") {
    const FakeTree t{{"kubepods/pod1/io.stat", ""}};
    CgroupCounters counters{roots_of(t), CgroupVersion::kV2};
    CHECK(counters.io(kPod).value().empty());
    t.write("kubepods/pod1/io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4\n");
    CHECK(counters.io(kPod).value().size() == 1);
  }
  TEST_CASE("v1 reads its two files of the blkio hierarchy") {
    const FakeTree t{{"blkio/kubepods/pod1/blkio.throttle.io_service_bytes_recursive", kBytes},
                     {"blkio/kubepods/pod1/blkio.throttle.io_serviced_recursive", kServiced}};
    CgroupCounters counters{roots_of(t), CgroupVersion::kV1};
    CHECK(counters.io(kPod).value() == std::vector<IoCounters>{{{8, 0}, 4096, 8192, 1, 2}});
  }
  TEST_CASE("a cgroup that is not there is no IO of zero") {
    const FakeTree t{{"kubepods/other/io.stat", ""}};
    CgroupCounters counters{roots_of(t), CgroupVersion::kV2};
    CHECK(counters.io(kPod).error().code == Errc::kNotFound);
  }
}

TEST_SUITE("cgroup_counters/pressure") {
  TEST_CASE("T25's file: some and full of a v2 cgroup, and of a v1 vendor kernel") {
    const char* text =
        "some avg10=15.00 avg60=3.00 avg300=1.00 total=1150000\n"
        "full avg10=1.00 avg60=0.00 avg300=0.00 total=40\n";
    const FakeTree t{{"kubepods/pod1/memory.pressure", text},
                     {"cpuacct/kubepods/pod1/memory.pressure", text}};
    for (const auto version : {CgroupVersion::kV1, CgroupVersion::kV2}) {
      CgroupCounters counters{roots_of(t), version};
      const auto psi = counters.pressure(kPod, "memory");
      REQUIRE(psi.has_value());
      CHECK(psi->some.total == std::chrono::microseconds{1'150'000});
      CHECK(psi->full.value().total == std::chrono::microseconds{40});
    }
  }
  TEST_CASE("pitfall 43: no full line for cpu, memory and io are read all the same") {
    const char* some = "some avg10=2.65 avg60=0.00 avg300=0.00 total=111\n";
    const FakeTree t{{"kubepods/pod1/cpu.pressure", some}, {"kubepods/pod1/io.pressure", some}};
    CgroupCounters counters{roots_of(t), CgroupVersion::kV2};
    CHECK_FALSE(counters.pressure(kPod, "cpu").value().full);
    CHECK(counters.pressure(kPod, "io").has_value());
  }
  TEST_CASE("an empty file or one without some is never a zero") {
    const FakeTree t{{"kubepods/pod1/cpu.pressure", "full avg10=0 avg60=0 avg300=0 total=0\n"}};
    CgroupCounters counters{roots_of(t), CgroupVersion::kV2};
    CHECK(counters.pressure(kPod, "cpu").error().code == Errc::kParse);
    t.write("kubepods/pod1/cpu.pressure", "");
    CHECK(counters.pressure(kPod, "cpu").error().code == Errc::kGone);
    CHECK(counters.pressure(kPod, "disk").error().code == Errc::kRange);
  }
  TEST_CASE("what one cgroup lacks is not refused to another") {
    FakeTree t{{"kubepods/pod1/cpu.stat", "usage_usec 1\n"}};
    CgroupCounters counters{roots_of(t), CgroupVersion::kV2};
    for (int i = 0; i < 100; ++i) {
      CHECK(counters.pressure(kPod, "cpu").error().code == Errc::kNotSupported);
      const auto name = fmt::format("kubepods/pod{}", i + 2);
      t.write(name + "/io.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
      const auto path = CgroupPath::parse(name).value();
      CHECK(counters.pressure(path, "cpu").error().code == Errc::kNotSupported);
      CHECK(counters.pressure(path, "io").has_value());
    }
  }
  TEST_CASE("an absence that is remembered names the file of this cgroup") {
    FakeTree t{{"kubepods/pod1/cpu.stat", "usage_usec 1\n"}};
    CgroupCounters counters{roots_of(t), CgroupVersion::kV2};
    for (int i = 0; i < 3; ++i) {
      const auto psi = counters.pressure(kPod, "memory");
      REQUIRE(psi.has_error());
      CHECK(psi.error().context.starts_with(t.path("kubepods/pod1/memory.pressure")));
    }
  }
  TEST_CASE("pitfall 41: the first cgroup that has the file ends the rest of all") {
    FakeTree t{{"kubepods/pod1/cpu.stat", "usage_usec 1\n"}};
    CgroupCounters counters{roots_of(t), CgroupVersion::kV2};
    CHECK(counters.pressure(kPod, "cpu").error().code == Errc::kNotSupported);
    t.write("kubepods/pod1/cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
    t.write("kubepods/pod2/cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
    CHECK(counters.pressure(kPod, "cpu").error().code == Errc::kNotSupported);
    CHECK(counters.pressure(CgroupPath::parse("kubepods/pod2").value(), "cpu").has_value());
    CHECK(counters.pressure(kPod, "cpu").has_value());
  }
  TEST_CASE("a cgroup that is gone is kNotFound each time, whatever it lacked") {
    FakeTree t{{"kubepods/pod1/cpu.stat", "usage_usec 1\n"}, {"kubepods/pod1/io.stat", ""}};
    CgroupCounters counters{roots_of(t), CgroupVersion::kV2};
    CHECK(counters.io(kPod).has_value());
    CHECK(counters.pressure(kPod, "cpu").error().code == Errc::kNotSupported);
    t.remove("kubepods/pod1");
    CHECK(counters.io(kPod).error().code == Errc::kNotFound);
    for (int i = 0; i < 3; ++i)
      CHECK(counters.pressure(kPod, "cpu").error().code == Errc::kNotFound);
  }
  TEST_CASE("pitfall 41: a file that this kernel lacks is looked for again, and found later") {
    FakeTree t{{"kubepods/pod1/cpu.stat", "usage_usec 1\n"}};
    CgroupCounters counters{roots_of(t), CgroupVersion::kV2};
    for (int i = 0; i < 40; ++i)
      CHECK(counters.pressure(kPod, "cpu").error().code == Errc::kNotSupported);
    t.write("kubepods/pod1/cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
    bool found = false;
    for (int i = 0; i < 64; ++i) found = counters.pressure(kPod, "cpu").has_value();
    CHECK(found);
    CHECK(counters.pressure(kPod, "cpu").has_value());
  }
}

}  // namespace
