#include "base/cgroup_file.hpp"

#include <set>
#include <string>

#include <doctest/doctest.h>

#include "base/cgroup.hpp"

using namespace koordlet;

TEST_SUITE("cgroup files") {
  TEST_CASE("each name is unique and finds its file again") {
    std::set<std::string_view> names;
    for (const auto& t : all_cgroup_files()) {
      CHECK(names.insert(t.name).second);
      CHECK(parse_cgroup_file(t.name) == t.file);
      CHECK(to_string(t.file) == t.name);
    }
    CHECK_FALSE(parse_cgroup_file("cpu.max2"));
    CHECK_FALSE(parse_cgroup_file(""));
  }

  TEST_CASE("an item belongs to a file of its kind only") {
    CHECK(is_item_of(CgroupFile::kCpuMax, ""));
    CHECK_FALSE(is_item_of(CgroupFile::kCpuMax, "8:16"));
    CHECK(is_item_of(CgroupFile::kIoMax, "253:16"));
    for (const auto* bad : {"", "8", "8:", ":16", "8:16 ", "8:16\n9:0", "a:b", "08:16", "../x"}) {
      CHECK_FALSE(is_item_of(CgroupFile::kIoMax, bad));
    }
    CHECK(is_item_of(CgroupFile::kResctrlL3, "8"));
    CHECK_FALSE(is_item_of(CgroupFile::kResctrlL3, "0;1"));
    CHECK(is_item_of(CgroupFile::kSchedFeature, "ID_IDLE_AVG"));
    CHECK_FALSE(is_item_of(CgroupFile::kSchedFeature, "id idle"));
  }

  TEST_CASE("bandwidth of a device: keys in any order, absent is unlimited, text is canonical") {
    const auto value = parse_cgroup_value(CgroupFile::kIoMax, "wiops=120 rbps=1048576 wbps=max\n");
    REQUIRE(value);
    const auto& io = std::get<IoMax>(*value);
    CHECK(io.read_bytes == IoMax::Rate{1048576});
    CHECK(io.write_bytes.is_unlimited());
    CHECK(io.read_ops.is_unlimited());
    CHECK(io.write_ops == IoMax::Rate{120});
    CHECK(to_string(*value) == "rbps=1048576 wbps=max riops=max wiops=120");
    CHECK(parse_cgroup_value(CgroupFile::kIoMax, to_string(*value)).value() == *value);
    for (const auto* bad : {"rbps", "rbps=", "rbps=-1", "rbps=1 rbps=2", "bps=1", "rbps=1x"}) {
      CHECK_FALSE(parse_cgroup_value(CgroupFile::kIoMax, bad));
    }
  }

  TEST_CASE("a line is printable words with one blank between two") {
    const auto value = parse_cgroup_value(CgroupFile::kIoCostQos, " enable=1   ctrl=user\n");
    REQUIRE(value);
    CHECK(to_string(*value) == "enable=1 ctrl=user");
    CHECK_FALSE(parse_cgroup_value(CgroupFile::kIoCostQos, " \n"));
    CHECK_FALSE(parse_cgroup_value(CgroupFile::kIoCostQos, "a\x01"));
    CHECK_FALSE(parse_cgroup_value(CgroupFile::kIoCostQos, std::string(501, 'x')));
  }

  TEST_CASE("a value is of the kind that its file holds") {
    CHECK(holds_type_of(CgroupFile::kCpuMax, CpuMax{}));
    CHECK(holds_type_of(CgroupFile::kCpuset, CpuSet{}));
    CHECK(holds_type_of(CgroupFile::kMemoryHigh, MemoryBound::unlimited()));
    CHECK(holds_type_of(CgroupFile::kCpuBurst, Number{0}));
    CHECK(holds_type_of(CgroupFile::kIoMax, IoMax{}));
    CHECK(holds_type_of(CgroupFile::kIoCostModel, Line{"ctrl=auto"}));
    CHECK_FALSE(holds_type_of(CgroupFile::kIoMax, Number{1}));
  }

  TEST_CASE("a key names its item") {
    CHECK(to_string(CgroupKey{CgroupPath::parse("be").value(), CgroupFile::kIoMax, "8:16"}) ==
          "/be io.max 8:16");
  }
}
