#include <algorithm>
#include <deque>
#include <linux/magic.h>
#include <sys/statfs.h>

#include <doctest/doctest.h>

#include "bpf_kit.hpp"
#include "kernel/cgroup_iterator.hpp"
#include "support/skip.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using namespace koordlet::test;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

/// Where cgroup v2 is: everything, or beside the controllers of v1.
std::string v2_tree() {
  for (const char* below : {"", "/unified"}) {
    const std::string path = HostRoots{}.cgroup + below;
    struct statfs fs {};
    if (::statfs(path.c_str(), &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC) return path;
  }
  return {};
}

/// Number behind `key` in a file of "key number" lines.
std::optional<std::uint64_t> keyed(const LiveCgroup& group,
                                   std::string_view file,
                                   std::string_view key) {
  const auto text = read_file(group.file(file));
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  while (auto line = next_line(rest)) {
    if (next_field(*line) != key) continue;
    const auto n = parse_u64(trim(*line));
    return n ? std::optional{*n} : std::nullopt;
  }
  return std::nullopt;
}

/// "total=" of the some or full line; 0 where the file has no such line.
microseconds stalled(const LiveCgroup& group, std::string_view file, std::string_view line_name) {
  const auto text = read_file(group.file(file));
  if (!text) return microseconds{0};
  std::string_view rest = *text;
  while (auto line = next_line(rest)) {
    if (next_field(*line) != line_name) continue;
    const auto at = line->find("total=");
    if (at == std::string_view::npos) break;
    const auto n = parse_u64(trim(line->substr(at + 6)));
    return microseconds{n ? *n : 0};
  }
  return microseconds{0};
}

struct Pressures {
  microseconds cpu_some, cpu_full, memory_some, memory_full, io_some, io_full;
};
Pressures pressures(const LiveCgroup& group) {
  return {stalled(group, "cpu.pressure", "some"),
          stalled(group, "cpu.pressure", "full"),
          stalled(group, "memory.pressure", "some"),
          stalled(group, "memory.pressure", "full"),
          stalled(group, "io.pressure", "some"),
          stalled(group, "io.pressure", "full")};
}

/// A directory of cgroups of our own, with the controllers that are there, and the iterator on it.
struct Tree {
  LiveCgroup base{fmt::format("{}/koordlet-test-{}", v2_tree(), ::getpid())};
  std::deque<LiveCgroup> children;
  std::unique_ptr<CgroupIterator> iterator;
  std::string why;

  explicit Tree(std::size_t count, std::size_t max_cgroups = 16'384) {
    if (v2_tree().empty() || !base.ok()) {
      why = "no writable cgroup v2 tree (root is needed)";
      return;
    }
    for (const char* controller : {"+cpu", "+memory"}) {
      static_cast<void>(write_file(base.file("cgroup.subtree_control"), controller).has_value());
    }
    grow(count);
    auto opened = CgroupIterator::open(base.directory(), max_cgroups);
    if (opened) {
      iterator = std::move(*opened);
    } else if (opened.error().code == Errc::kNotSupported || opened.error().code == Errc::kDenied) {
      why = opened.error().context;
    } else {
      FAIL(opened.error().context);
    }
  }
  ~Tree() {
    while (!children.empty()) children.pop_back();
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  void grow(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      children.emplace_back(base.file(fmt::format("c{}", children.size())));
      REQUIRE(children.back().ok());
    }
  }
  const CgroupIterator::Table& read() const {
    const auto got = iterator->read();
    REQUIRE(got.has_value());
    return **got;
  }
};

#define SKIP_IF(tree) KOORDLET_SKIP_UNLESS((tree).why.empty(), (tree).why.c_str())

void check_usage(const LiveCgroup& group, const IteratedCgroup& got) {
  const auto usage = keyed(group, "cpu.stat", "usage_usec");
  REQUIRE(usage.has_value());
  CAPTURE(group.directory());
  const auto us = std::chrono::duration_cast<microseconds>(got.cpu_usage).count();
  CHECK(std::abs(us - static_cast<std::int64_t>(*usage)) <= 1);
}

}  // namespace

TEST_SUITE("live/cgroup_iterator") {
  TEST_CASE("50 cgroups, some of them busy: all are there, and usage equals cpu.stat") {
    const Tree tree{50};
    SKIP_IF(tree);
    MESSAGE("flushes by " << tree.iterator->variant());
    std::deque<HeldProcess> busy;
    for (std::size_t i = 0; i < 50; i += 5) {
      busy.emplace_back(
          tree.children[i], static_cast<int>(i % std::thread::hardware_concurrency()), spin);
      REQUIRE(busy.back().ok());
    }
    for (int round = 0; round < 3; ++round) {
      for (const auto& p : busy) p.go();
      std::this_thread::sleep_for(milliseconds{200});
      for (const auto& p : busy) REQUIRE(p.halt());
      const auto& table = tree.read();
      CHECK(table.size() == 51);
      for (std::size_t i = 0; i < 50; ++i) {
        const auto at = table.find(tree.children[i].id());
        REQUIRE(at != table.end());
        check_usage(tree.children[i], at->second);
        if (i % 5 == 0) CHECK(at->second.cpu_usage > nanoseconds{0});
        if (i % 5 != 0) CHECK(at->second.cpu_usage == nanoseconds{0});
      }
      REQUIRE(table.contains(tree.base.id()));
      check_usage(tree.base, table.at(tree.base.id()));
    }
  }

  TEST_CASE("stall totals lie between what the files say before and after") {
    const Tree tree{2};
    SKIP_IF(tree);
    KOORDLET_SKIP_UNLESS(read_file(tree.base.file("cpu.pressure")).has_value(),
                         "no PSI of cgroups");
    {
      const HeldProcess one{tree.children[0], 0, spin}, two{tree.children[0], 0, spin};
      one.go();
      two.go();
      std::this_thread::sleep_for(milliseconds{400});
      REQUIRE(one.halt());
      REQUIRE(two.halt());
      for (const auto* group : {&tree.children[0], &tree.children[1], &tree.base}) {
        CAPTURE(group->directory());
        const auto low = pressures(*group);
        const auto& got = tree.read().at(group->id()).pressure;
        const auto high = pressures(*group);
        REQUIRE(got.has_value());
        CHECK((low.cpu_some <= got->cpu_some && got->cpu_some <= high.cpu_some));
        CHECK((low.cpu_full <= got->cpu_full && got->cpu_full <= high.cpu_full));
        CHECK((low.memory_some <= got->memory_some && got->memory_some <= high.memory_some));
        CHECK((low.memory_full <= got->memory_full && got->memory_full <= high.memory_full));
        CHECK((low.io_some <= got->io_some && got->io_some <= high.io_some));
        CHECK((low.io_full <= got->io_full && got->io_full <= high.io_full));
      }
      CHECK(tree.read().at(tree.children[0].id()).pressure->cpu_some > milliseconds{50});
    }
  }

  TEST_CASE("a cgroup whose PSI is switched off has no pressure") {
    const Tree tree{2};
    SKIP_IF(tree);
    KOORDLET_SKIP_UNLESS(write_file(tree.children[1].file("cgroup.pressure"), "0").has_value(),
                         "PSI cannot be switched off here");
    const auto& table = tree.read();
    CHECK(table.at(tree.children[0].id()).pressure.has_value());
    CHECK_FALSE(table.at(tree.children[1].id()).pressure.has_value());
  }

  TEST_CASE("throttling counts as in cpu.stat; without the cpu controller it is not known") {
    const Tree tree{2};
    SKIP_IF(tree);
    const auto& group = tree.children[0];
    if (!write_file(group.file("cpu.max"), "10000 100000")) {
      const auto& got = tree.read().at(group.id());
      CHECK_FALSE(got.throttle.has_value());
      KOORDLET_SKIP_UNLESS(false, "no cpu controller on cgroup v2");
    }
    const HeldProcess busy{group, 0, spin};
    REQUIRE(busy.ok());
    busy.go();
    std::this_thread::sleep_for(milliseconds{1500});
    REQUIRE(busy.halt());
    const auto low_periods = keyed(group, "cpu.stat", "nr_periods");
    const auto low_throttled = keyed(group, "cpu.stat", "nr_throttled");
    const auto low_usec = keyed(group, "cpu.stat", "throttled_usec");
    const auto got = tree.read().at(group.id()).throttle;
    REQUIRE(got.has_value());
    REQUIRE((low_periods && low_throttled && low_usec));
    const auto us = static_cast<std::uint64_t>(
        std::chrono::duration_cast<microseconds>(got->throttled_time).count());
    CHECK(got->throttled >= 3);
    CHECK((*low_periods <= got->periods && got->periods <= keyed(group, "cpu.stat", "nr_periods")));
    CHECK((*low_throttled <= got->throttled &&
           got->throttled <= keyed(group, "cpu.stat", "nr_throttled")));
    CHECK((*low_usec <= us && us <= keyed(group, "cpu.stat", "throttled_usec")));
    const auto idle = tree.read().at(tree.children[1].id()).throttle;
    REQUIRE(idle.has_value());
    CHECK(idle->throttled == 0);
    CHECK(idle->throttled_time == nanoseconds{0});
  }

  TEST_CASE("memory is what memory.current says; without the controller it is not known") {
    const Tree tree{2};
    SKIP_IF(tree);
    const auto& group = tree.children[0];
    if (!read_file(group.file("memory.current"))) {
      CHECK_FALSE(tree.read().at(group.id()).memory_current.has_value());
      KOORDLET_SKIP_UNLESS(false, "no memory controller on cgroup v2");
    }
    constexpr std::size_t kTouched = 24 << 20;
    const HeldProcess eater{group, 0, [] {
                              static std::string memory(kTouched, 'x');
                              ::pause();
                            }};
    REQUIRE(eater.ok());
    eater.go();
    REQUIRE(eater.falls_asleep());
    const auto got = tree.read().at(group.id()).memory_current;
    const auto text = read_file(group.file("memory.current"));
    REQUIRE(got.has_value());
    REQUIRE(text.has_value());
    CHECK(*got >= kTouched);
    // The kernel charges some pages ahead and gives them back whenever it likes.
    CHECK(std::abs(static_cast<double>(*got) -
                   static_cast<double>(parse_u64(trim(*text)).value())) < 1 << 20);
  }

  TEST_CASE("cgroups that come and go are in the table and out of it at the next pass") {
    Tree tree{3};
    SKIP_IF(tree);
    CHECK(tree.read().size() == 4);
    tree.grow(5);
    CHECK(tree.read().size() == 9);
    const auto gone = tree.children[2].id(), kept = tree.children[3].id();
    tree.children[2].remove();
    tree.children[0].remove();
    const auto& table = tree.read();
    CHECK(table.size() == 7);
    CHECK_FALSE(table.contains(gone));
    CHECK(table.contains(kept));
    const LiveCgroup grandchild{tree.children[1].file("deep")};
    CHECK(tree.read().size() == 8);
    CHECK(tree.read().contains(grandchild.id()));
  }

  TEST_CASE("a removed directory is gone, and stays so when its name comes back") {
    Tree tree{1};
    SKIP_IF(tree);
    CHECK(tree.read().size() == 2);
    tree.children.clear();
    const auto name = tree.base.directory();
    tree.base.remove();
    const auto removed = tree.iterator->read();
    REQUIRE(removed.has_error());
    CHECK(removed.error().code == Errc::kGone);
    const LiveCgroup again{name};
    REQUIRE(again.ok());
    CHECK(tree.iterator->read().error().code == Errc::kGone);
  }

  TEST_CASE("more cgroups than the table holds are an error, and fewer again are none") {
    Tree tree{60, 20};
    SKIP_IF(tree);
    const auto r = tree.iterator->read();
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kRange);
    CHECK(r.error().context.find("61 cgroups, expected at most 20") != std::string::npos);
    while (tree.children.size() > 19) tree.children.pop_back();
    CHECK(tree.read().size() == 20);
  }

  TEST_CASE("from the very top: all but the top itself, for which the kernel keeps no counters") {
    const Tree tree{2};
    SKIP_IF(tree);
    const auto top = CgroupIterator::open(v2_tree());
    REQUIRE(top.has_value());
    const auto got = (*top)->read();
    REQUIRE(got.has_value());
    struct stat st {};
    REQUIRE(::stat(v2_tree().c_str(), &st) == 0);
    CHECK_FALSE((*got)->contains(st.st_ino));
    CHECK((*got)->contains(tree.base.id()));
    CHECK((*got)->contains(tree.children[1].id()));
  }

  TEST_CASE("1000 passes leave no descriptor, and nothing is left when the object is gone") {
    const auto held = held_bpf_programs();
    const auto before = open_descriptors();
    Tree tree{3};
    SKIP_IF(tree);
    auto ours = held_bpf_programs();
    for (const auto id : held) ours.erase(id);
    CHECK(ours.size() == 1);
    const auto opened = open_descriptors();
    std::size_t good = 0;
    for (int i = 0; i < 1000; ++i) good += tree.read().size() == 4 ? 1 : 0;
    CHECK(good == 1000);
    CHECK(open_descriptors() == opened);
    tree.iterator.reset();
    CHECK(open_descriptors() == before);
    CHECK(left_bpf_programs(ours) == 0);
  }

  TEST_CASE("directories that are not there, or not on cgroup v2") {
    CHECK(CgroupIterator::open("/no/such/directory").error().code == Errc::kNotFound);
    CHECK(CgroupIterator::open("/tmp").error().code == Errc::kNotSupported);
    const auto version = detect_cgroup_version({});
    if (version && *version == CgroupVersion::kV1) {
      const auto v1 = CgroupIterator::open(HostRoots{}.cgroup + "/cpu");
      REQUIRE(v1.has_error());
      CHECK(v1.error().code == Errc::kNotSupported);
    }
    CHECK(CgroupIterator::open("/tmp", 0).error().code == Errc::kRange);
  }

  TEST_CASE("without rights it says so") {
    KOORDLET_SKIP_UNLESS(::geteuid() == 0 && !v2_tree().empty(), "root and cgroup v2 are needed");
    const int code = as_nobody([] {
      const auto r = CgroupIterator::open(v2_tree());
      return r ? 0 : static_cast<int>(r.error().code);
    });
    CHECK(code == static_cast<int>(Errc::kDenied));
  }
}
