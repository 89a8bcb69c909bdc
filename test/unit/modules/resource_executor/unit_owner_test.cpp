#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include <doctest/doctest.h>

#include "modules/resource_executor/key_state.hpp"
#include "rig.hpp"

using namespace koordlet;
using namespace koordlet::test;

namespace {

/// Notes what the executor says.
struct FakeUnits final : UnitOwner {
  Texts said;
  std::set<CgroupKey> busy;
  int sends = 0;
  void say(const char* what, const CgroupKey& key, const CgroupValue* value) {
    std::ostringstream out;
    out << what << ' ' << key;
    if (value != nullptr) out << " = " << to_string(*value);
    said.push_back(out.str());
  }
  void hold(const CgroupKey& key, const CgroupValue& value) override { say("hold", key, &value); }
  void give_back(const CgroupKey& key, const CgroupValue& value) override {
    say("back", key, &value);
  }
  void forget(const CgroupKey& key) override { say("forget", key, nullptr); }
  void send() override { ++sends; }
  bool settling(const CgroupKey& key) const override { return busy.contains(key); }
  Texts news() { return std::exchange(said, {}); }
};

constexpr const char* kBe = "kubepods.slice/kubepods-besteffort.slice";
CgroupKey be(CgroupFile file) { return {CgroupPath::parse(kBe).value(), file}; }
CgroupValue quota(std::int64_t us) { return CpuMax{Limit{std::chrono::microseconds{us}}}; }

struct UnitRig : Rig {
  explicit UnitRig(ResourceExecutor::Config c = {}) : Rig{CgroupVersion::kV2, c} {
    tree.make(kBe);
    executor->use_unit_owner(units);
  }
  FakeUnits units;
  const CgroupKey max = be(CgroupFile::kCpuMax);
};

}  // namespace

TEST_SUITE("executor and the owner of units") {
  TEST_CASE("told after each write, once a batch, and not when nothing was written") {
    UnitRig rig;
    rig.apply_one(rig.max, quota(50'000));
    CHECK(rig.units.news() ==
          Texts{"hold /kubepods.slice/kubepods-besteffort.slice cpu.max = 50000 100000"});
    CHECK(rig.units.sends == 1);
    rig.apply_one(rig.max, quota(50'000));
    CHECK(rig.units.news().empty());
    CHECK(rig.units.sends == 2);  // what had no answer goes out again
  }

  TEST_CASE("a reset is told again: systemd does not know the value") {
    UnitRig rig;
    rig.apply_one(rig.max, quota(50'000));
    rig.units.news();
    rig.tree.set(rig.max, CpuMax{});
    rig.apply_one(rig.max, quota(50'000));
    CHECK(rig.units.news().size() == 1);
    CHECK(rig.held(rig.max).foreign_writes == 1);
  }

  TEST_CASE("no longer wished: the original is told") {
    UnitRig rig;
    rig.apply_one(rig.max, quota(50'000));
    rig.units.news();
    rig.apply({});
    CHECK(rig.units.news() ==
          Texts{"back /kubepods.slice/kubepods-besteffort.slice cpu.max = max 100000"});
  }

  TEST_CASE("no longer wished, and somebody else's by now: their value is told") {
    UnitRig rig;
    rig.apply_one(rig.max, quota(50'000));
    rig.units.news();
    rig.tree.set(rig.max, quota(70'000));
    rig.apply({});
    CHECK(rig.units.news() ==
          Texts{"back /kubepods.slice/kubepods-besteffort.slice cpu.max = 70000 100000"});
    CHECK(rig.tree.text(rig.max) == "70000 100000");
  }

  TEST_CASE("everything given back at once") {
    UnitRig rig;
    rig.apply_one(rig.max, quota(50'000));
    rig.units.news();
    const int sends = rig.units.sends;
    rig.executor->restore_all();
    CHECK(rig.units.news() ==
          Texts{"back /kubepods.slice/kubepods-besteffort.slice cpu.max = max 100000"});
    CHECK(rig.units.sends == sends + 1);
  }

  TEST_CASE("a refused write is not told, a dry run says nothing") {
    UnitRig rig;
    rig.tree.fail_next(rig.max, Errc::kInvalid);
    rig.apply_one(rig.max, quota(50'000));
    CHECK(rig.units.news().empty());
    ResourceExecutor::Config dry;
    dry.dry_run = true;
    UnitRig other{dry};
    other.apply_one(other.max, quota(50'000));
    other.executor->restore_all();
    CHECK(other.units.news().empty());
  }

  TEST_CASE("a cgroup that ended is forgotten") {
    UnitRig rig;
    rig.apply_one(rig.max, quota(50'000));
    rig.units.news();
    rig.tree.remove(rig.max.path);
    rig.apply_one(rig.max, quota(50'000));
    CHECK(rig.units.news() == Texts{"forget /kubepods.slice/kubepods-besteffort.slice cpu.max"});
  }

  TEST_CASE("systemd still writes the value before: put right, and nobody is blamed") {
    UnitRig rig;
    for (int i = 0; i < 10; ++i) {
      rig.apply_one(rig.max, quota(50'000 + i * 1'000));
      rig.units.busy = {rig.max};
      rig.tree.set(rig.max, quota(49'000 + i * 1'000));
      rig.clock.advance(std::chrono::seconds{1});
    }
    rig.apply_one(rig.max, quota(70'000));
    CHECK(rig.tree.text(rig.max) == "70000 100000");
    CHECK(rig.held(rig.max).foreign_writes == 0);
    CHECK_FALSE(rig.held(rig.max).contested);
  }

  TEST_CASE("after a reload systemd cuts the quota to whole percent: no contest") {
    UnitRig rig;
    for (int i = 0; i < 10; ++i) {
      rig.apply_one(rig.max, quota(12'345));
      rig.tree.set(rig.max, quota(12'000));
      rig.clock.advance(std::chrono::seconds{1});
    }
    rig.apply_one(rig.max, quota(12'345));
    CHECK(rig.held(rig.max).foreign_writes == 10);
    CHECK_FALSE(rig.held(rig.max).contested);
  }

  TEST_CASE("such a value is still ours when everything is given back") {
    UnitRig rig;
    rig.apply_one(rig.max, quota(12'345));
    rig.tree.set(rig.max, quota(12'000));
    rig.executor->restore_all();
    CHECK(rig.tree.text(rig.max) == "max 100000");
    rig.apply_one(rig.max, quota(12'345));
    rig.tree.set(rig.max, quota(12'000));
    rig.apply({});
    CHECK(rig.tree.text(rig.max) == "max 100000");
  }

  TEST_CASE("what counts as that rounding") {
    const auto key = be(CgroupFile::kCpuMax);
    CHECK(executor::is_unit_rounding(key, quota(12'345), quota(12'000)));
    CHECK(executor::is_unit_rounding(key, quota(12'345), quota(12'345)));
    CHECK_FALSE(executor::is_unit_rounding(key, quota(12'345), quota(11'000)));
    CHECK_FALSE(executor::is_unit_rounding(key, quota(12'345), quota(13'000)));
    CHECK_FALSE(executor::is_unit_rounding(key, quota(12'345), CpuMax{}));
    const CgroupKey plain{CgroupPath::parse("kubepods/be").value(), CgroupFile::kCpuMax};
    CHECK_FALSE(executor::is_unit_rounding(plain, quota(12'345), quota(12'000)));
  }

  TEST_CASE("pitfall of a crash: the next run tells what is held, and restore what was before") {
    std::string folder =
        (std::filesystem::temp_directory_path() / "koordlet-unit-owner-XXXXXX").string();
    REQUIRE(::mkdtemp(folder.data()) != nullptr);
    {
      auto env = store::LmdbEnv::open({folder}).value();
      store::Journal journal{env};
      Rig rig{CgroupVersion::kV2, {}, &journal};
      rig.tree.make(kBe);
      const auto max = be(CgroupFile::kCpuMax);
      rig.apply_one(max, quota(50'500));
      rig.tree.set(max, quota(50'000));  // a daemon-reload
      rig.restart();                     // killed before systemd was told
      FakeUnits units;
      rig.executor->use_unit_owner(units);
      CHECK(rig.adopt().size() == 1);
      CHECK(units.news() ==
            Texts{"hold /kubepods.slice/kubepods-besteffort.slice cpu.max = 50000 100000"});
      CHECK(units.sends == 1);
      const auto outcomes = restore_from_journal(rig.tree, journal, "boot-1", false, &units);
      REQUIRE(outcomes.has_value());
      CHECK(units.news() ==
            Texts{"back /kubepods.slice/kubepods-besteffort.slice cpu.max = max 100000"});
      CHECK(units.sends == 2);
    }
    std::filesystem::remove_all(folder);
  }
}
