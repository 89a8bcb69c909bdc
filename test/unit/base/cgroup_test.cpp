#include "base/cgroup.hpp"

#include <stdexcept>

#include <doctest/doctest.h>

using namespace koordlet;
using std::chrono::microseconds;

namespace {

CgroupPath path(std::string_view text) { return CgroupPath::parse(text).value(); }
std::string canonical(CgroupFile file, std::string_view text) {
  return to_string(parse_cgroup_value(file, text).value());
}

}  // namespace

TEST_SUITE("cgroup/path") {
  TEST_CASE("real names are accepted") {
    for (const char* text : {"",
                             "kubepods",
                             "kubepods/besteffort/pod7712555c-ce62-454a-9e18-9ff0217b8941",
                             "kubepods.slice/kubepods-burstable.slice",
                             "user.slice/user-1000.slice/user@1000.service/app:1",
                             "a..b/...",
                             ".hidden"}) {
      CAPTURE(text);
      const auto r = CgroupPath::parse(text);
      REQUIRE(r);
      CHECK(r->str() == text);
    }
  }

  TEST_CASE("traversal and foreign characters never become a path") {
    const std::string nul{"a\0b", 3};
    for (const std::string& text : {std::string{"/"},
                                    std::string{"/etc"},
                                    std::string{"a/"},
                                    std::string{"a//b"},
                                    std::string{"."},
                                    std::string{".."},
                                    std::string{"../x"},
                                    std::string{"a/../b"},
                                    std::string{"a/./b"},
                                    std::string{"a/.."},
                                    std::string{"a b"},
                                    std::string{"a\nb"},
                                    std::string{"a\\b"},
                                    std::string{"a%2fb"},
                                    std::string{"\xc3\xa4"},
                                    nul}) {
      CAPTURE(text);
      const auto r = CgroupPath::parse(text);
      REQUIRE(r.has_error());
      CHECK(r.error().code == Errc::kRange);
    }
  }

  TEST_CASE("length limits of a component and of the whole") {
    CHECK(CgroupPath::parse(std::string(255, 'a')));
    CHECK(CgroupPath::parse(std::string(256, 'a')).has_error());
    std::string deep = "a";
    while (deep.size() + 2 <= 4095) deep += "/a";
    CHECK(CgroupPath::parse(deep));
    CHECK(CgroupPath::parse(deep + "/aaa").has_error());
  }

  TEST_CASE("parent, name, depth, child") {
    const auto p = path("kubepods/besteffort/pod1");
    CHECK(p.depth() == 3);
    CHECK(p.name() == "pod1");
    CHECK(p.parent() == path("kubepods/besteffort"));
    CHECK(p.parent().parent().parent().is_root());
    CHECK(CgroupPath{}.parent().is_root());
    CHECK(CgroupPath{}.depth() == 0);
    CHECK(CgroupPath{}.name().empty());
    CHECK(CgroupPath{}.child("kubepods").child("pod1") == path("kubepods/pod1"));
  }

  TEST_CASE("child refuses what would leave the directory") {
    for (const char* component : {"", ".", "..", "a/b", "/", "a b"}) {
      CAPTURE(component);
      CHECK_THROWS_AS(path("a").child(component), std::invalid_argument);
    }
  }

  TEST_CASE("ancestors are found by components, not by substring") {
    CHECK(path("a/b").is_ancestor_of(path("a/b/c")));
    CHECK(path("a").is_ancestor_of(path("a/b/c")));
    CHECK_FALSE(path("a/b").is_ancestor_of(path("a/bc")));
    CHECK_FALSE(path("a/b").is_ancestor_of(path("a/b")));
    CHECK_FALSE(path("a/b/c").is_ancestor_of(path("a/b")));
    CHECK_FALSE(path("b").is_ancestor_of(path("a/b/c")));
    CHECK(CgroupPath{}.is_ancestor_of(path("a")));
    CHECK_FALSE(CgroupPath{}.is_ancestor_of(CgroupPath{}));
    CHECK_FALSE(path("a").is_ancestor_of(CgroupPath{}));
  }
}

TEST_SUITE("cgroup/value") {
  TEST_CASE("one canonical text a value") {
    CHECK(to_string(CgroupValue{CpuMax{Limit{microseconds{120'000}}, microseconds{100'000}}}) ==
          "120000 100000");
    CHECK(to_string(CgroupValue{CpuMax{}}) == "max 100000");
    CHECK(to_string(CgroupValue{CpuSet::range(0, 3)}) == "0-3");
    CHECK(to_string(CgroupValue{MemoryBound::unlimited()}) == "max");
    CHECK(to_string(CgroupValue{MemoryBound{Bytes{4096}}}) == "4096");
    CHECK(to_string(CgroupValue{Number{-1}}) == "-1");
  }

  TEST_CASE("canonical text parses to the same value") {
    struct Row {
      CgroupFile file;
      const char* text;
    };
    for (const auto& row : {Row{CgroupFile::kCpuMax, "120000 100000"},
                            Row{CgroupFile::kCpuMax, "max 50000"},
                            Row{CgroupFile::kCpuset, "0-3,8"},
                            Row{CgroupFile::kCpuset, ""},
                            Row{CgroupFile::kMemoryMin, "0"},
                            Row{CgroupFile::kMemoryLow, "4096"},
                            Row{CgroupFile::kMemoryHigh, "max"},
                            Row{CgroupFile::kMemoryMax, "9223372036854771712"},
                            Row{CgroupFile::kCpuWeight, "20"},
                            Row{CgroupFile::kCpuIdle, "1"},
                            Row{CgroupFile::kCpuBvt, "-1"}}) {
      CAPTURE(row.text);
      const auto value = parse_cgroup_value(row.file, row.text);
      REQUIRE(value);
      CHECK(holds_type_of(row.file, *value));
      CHECK(to_string(*value) == row.text);
    }
  }

  TEST_CASE("other spellings become canonical") {
    CHECK(canonical(CgroupFile::kCpuMax, " 50000\t100000\n") == "50000 100000");
    CHECK(canonical(CgroupFile::kCpuset, "3,1,2,8\n") == "1-3,8");
    CHECK(canonical(CgroupFile::kMemoryMax, "max\n") == "max");
    CHECK(canonical(CgroupFile::kCpuWeight, "20\n") == "20");
  }

  TEST_CASE("row 50: max is unlimited, and never the number 0") {
    const auto memory = parse_cgroup_value(CgroupFile::kMemoryMax, "max\n");
    REQUIRE(memory);
    CHECK(std::get<MemoryBound>(*memory).is_unlimited());
    CHECK(std::get<MemoryBound>(*memory) != MemoryBound{Bytes{0}});
    const auto cpu = parse_cgroup_value(CgroupFile::kCpuMax, "max 100000\n");
    REQUIRE(cpu);
    CHECK(std::get<CpuMax>(*cpu).quota.is_unlimited());
  }

  TEST_CASE("damaged text is an error, never zero") {
    for (const char* text :
         {"", "max", "100000", "x 100000", "1 2 3", "max max", "-1 100000", "0 100000", "1000 0"}) {
      CAPTURE(text);
      CHECK(parse_cgroup_value(CgroupFile::kCpuMax, text).has_error());
    }
    for (const char* text : {"", "-1", "4k", "4096 4096", "infinity", "1.5"}) {
      CAPTURE(text);
      CHECK(parse_cgroup_value(CgroupFile::kMemoryMax, text).has_error());
      if (std::string_view{text} != "-1") {
        CHECK(parse_cgroup_value(CgroupFile::kCpuBvt, text).has_error());
      }
    }
  }

  TEST_CASE("the message names file, value and expectation") {
    const auto r = parse_cgroup_value(CgroupFile::kCpuMax, "ab 100000");
    REQUIRE(r.has_error());
    CHECK(r.error().context.find("cpu.max") != std::string::npos);
    CHECK(r.error().context.find("'ab'") != std::string::npos);
  }

  TEST_CASE("kinds do not mix") {
    CHECK_FALSE(holds_type_of(CgroupFile::kCpuMax, CgroupValue{Number{1}}));
    CHECK_FALSE(holds_type_of(CgroupFile::kCpuset, CgroupValue{MemoryBound::unlimited()}));
    CHECK_FALSE(holds_type_of(CgroupFile::kMemoryMax, CgroupValue{Number{1}}));
    CHECK_FALSE(holds_type_of(CgroupFile::kCpuWeight, CgroupValue{CpuSet{}}));
  }

  TEST_CASE("keys are shown with path and file") {
    CHECK(to_string(CgroupKey{path("kubepods/besteffort"), CgroupFile::kCpuMax}) ==
          "/kubepods/besteffort cpu.max");
    CHECK(to_string(CgroupKey{{}, CgroupFile::kCpuset}) == "/ cpuset.cpus");
  }
}
