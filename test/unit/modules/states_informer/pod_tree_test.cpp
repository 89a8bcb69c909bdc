#include "modules/states_informer/pod_tree.hpp"

#include <functional>
#include <set>
#include <sys/stat.h>

#include <doctest/doctest.h>

#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::states;
using test::FakeTree;

namespace {

class WatchList final : public Watches {
 public:
  Result<void> watch(const std::string& dir) override {
    if (dirs.size() >= limit && !dirs.contains(dir)) return Error{Errc::kBusy, dir + ": limit"};
    struct stat st {};
    if (::stat(dir.c_str(), &st) != 0) return Error{Errc::kNotFound, dir};
    if (on_watch) on_watch(dir);
    dirs.insert(dir);
    return {};
  }
  void unwatch(const std::string& dir) override { dirs.erase(dir); }

  std::set<std::string> dirs;
  std::size_t limit = 1000;
  std::function<void(const std::string&)> on_watch;
};

struct Fixture {
  FakeTree host;
  kernel::CgroupFs cgroups{kernel::HostRoots{.cgroup = host.root()}, CgroupVersion::kV1};
  PodTree tree{cgroups};
  WatchList watches;
  std::optional<kernel::CgroupLayout> layout = kernel::CgroupLayout{CgroupDriver::kCgroupfs};

  std::string dir(const std::string& path) const { return host.path("cpu/" + path); }
  void make(const std::string& path) const { host.mkdir("cpu/" + path); }
  void drop(const std::string& path) const { host.remove("cpu/" + path); }
  bool rescan() {
    bool changed = tree.begin_rescan(layout, watches);
    while (!tree.rescan_done()) changed = tree.step(1, watches) || changed;
    return changed;
  }
  bool event(const std::string& path, const std::string& name, bool came) {
    return tree.on_entry(dir(path), name, came, watches);
  }
};

const std::string kId(64, 'a');

}  // namespace

TEST_SUITE("states_informer/pod_tree") {
  TEST_CASE("tiers and pods are watched, and listed after the watch") {
    Fixture f;
    f.make("kubepods/besteffort/podu1/" + kId);
    f.make("kubepods/podu2");
    f.make("kubepods/burstable");
    f.make("kubepods/other");
    // A pod that comes between the listing and the watch would be lost: it comes at the watch here.
    f.watches.on_watch = [&f](const std::string& dir) {
      if (dir == f.dir("kubepods/burstable")) f.make("kubepods/burstable/podu3");
    };
    CHECK(f.rescan());
    CHECK(f.watches.dirs == std::set<std::string>{f.dir("kubepods"),
                                                  f.dir("kubepods/besteffort"),
                                                  f.dir("kubepods/burstable"),
                                                  f.dir("kubepods/besteffort/podu1"),
                                                  f.dir("kubepods/burstable/podu3"),
                                                  f.dir("kubepods/podu2")});
    CHECK_FALSE(f.rescan());
    CHECK(f.tree.fault().empty());
  }

  TEST_CASE("121: without a tree nothing is watched, one that appears is found by the rescan") {
    Fixture f;
    f.layout.reset();
    CHECK_FALSE(f.rescan());
    CHECK(f.watches.dirs.empty());
    f.make("kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podu_1.slice");
    f.layout = kernel::CgroupLayout{CgroupDriver::kSystemd};
    CHECK(f.rescan());
    CHECK(f.watches.dirs.size() == 3);
    // The other driver: the old watches go.
    f.drop("kubepods.slice");
    f.make("kubepods");
    f.layout = kernel::CgroupLayout{CgroupDriver::kCgroupfs};
    CHECK(f.rescan());
    CHECK(f.watches.dirs == std::set<std::string>{f.dir("kubepods")});
  }

  TEST_CASE("a pod directory that comes is watched at once, with what is in it") {
    Fixture f;
    f.make("kubepods/besteffort");
    f.rescan();
    f.make("kubepods/besteffort/podu1/" + kId);
    CHECK(f.event("kubepods/besteffort", "podu1", true));
    CHECK(f.watches.dirs.contains(f.dir("kubepods/besteffort/podu1")));
    CHECK_FALSE(f.rescan());  // nothing was missed
    f.make("kubepods/besteffort/podu1/c2");
    CHECK(f.event("kubepods/besteffort/podu1", "c2", true));
    f.drop("kubepods/besteffort/podu1/c2");
    CHECK(f.event("kubepods/besteffort/podu1", "c2", false));
    CHECK_FALSE(f.rescan());
  }

  TEST_CASE("a pod directory that goes is not watched any more") {
    Fixture f;
    f.make("kubepods/besteffort/podu1");
    f.rescan();
    f.drop("kubepods/besteffort/podu1");
    CHECK(f.event("kubepods/besteffort", "podu1", false));
    CHECK_FALSE(f.watches.dirs.contains(f.dir("kubepods/besteffort/podu1")));
    CHECK_FALSE(f.rescan());
    CHECK_FALSE(f.tree.on_gone(f.dir("kubepods/besteffort/podu1"), f.watches));
  }

  TEST_CASE("lost events: the rescan sees pods and containers that came and went") {
    Fixture f;
    f.make("kubepods/besteffort/podu1/c1");
    f.make("kubepods/besteffort/podu2");
    f.rescan();
    f.make("kubepods/besteffort/podu1/c2");
    CHECK(f.rescan());
    CHECK_FALSE(f.rescan());
    f.drop("kubepods/besteffort/podu1/c1");
    CHECK(f.rescan());
    f.drop("kubepods/besteffort/podu2");
    CHECK(f.rescan());
    f.make("kubepods/besteffort/podu3");
    CHECK(f.rescan());
    CHECK(f.watches.dirs.contains(f.dir("kubepods/besteffort/podu3")));
    CHECK_FALSE(f.watches.dirs.contains(f.dir("kubepods/besteffort/podu2")));
  }

  TEST_CASE("a tier that goes and comes back is watched again") {
    Fixture f;
    f.make("kubepods/besteffort/podu1");
    f.rescan();
    f.drop("kubepods/besteffort");
    CHECK(f.tree.on_gone(f.dir("kubepods/besteffort"), f.watches));
    CHECK(f.watches.dirs == std::set<std::string>{f.dir("kubepods")});
    f.make("kubepods/besteffort/podu1");
    SUBCASE("by its event") { CHECK(f.event("kubepods", "besteffort", true)); }
    SUBCASE("by the rescan") { CHECK(f.rescan()); }
    CHECK(f.watches.dirs.contains(f.dir("kubepods/besteffort")));
    CHECK(f.watches.dirs.contains(f.dir("kubepods/besteffort/podu1")));
    f.drop("kubepods");
    CHECK(f.rescan());
    CHECK(f.watches.dirs.empty());
    CHECK(f.tree.size() == 0);
  }

  TEST_CASE("what is no pod and no container wakes nobody") {
    Fixture f;
    f.make("kubepods/besteffort/podu1");
    f.rescan();
    CHECK_FALSE(f.event("kubepods", "other", true));
    CHECK_FALSE(f.event("kubepods", "burstable", true));  // not there: the event is old
    CHECK_FALSE(f.event("kubepods/besteffort", "pod../x", true));
    CHECK_FALSE(f.event("kubepods/besteffort", "", true));
    CHECK_FALSE(f.event("kubepods/besteffort/podu1", "crio-conmon-abc", true));
    CHECK_FALSE(f.event("kubepods/nowhere", "podu1", true));
  }

  TEST_CASE("at the watch limit the fault says so and the rescan still sees changes") {
    Fixture f;
    f.watches.limit = 2;
    f.make("kubepods/besteffort/podu1");
    CHECK(f.rescan());
    CHECK(f.tree.fault().find("limit") != std::string::npos);
    f.make("kubepods/besteffort/podu1/c1");
    CHECK(f.rescan());
    CHECK_FALSE(f.rescan());
    f.watches.limit = 10;
    f.rescan();
    CHECK(f.tree.fault().empty());
  }
}
