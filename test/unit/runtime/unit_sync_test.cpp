#include "runtime/unit_sync.hpp"

#include <deque>
#include <sstream>

#include <doctest/doctest.h>

using namespace koordlet;
using namespace koordlet::runtime;

namespace {

/// systemd without systemd: refuses unknown units and what is out of range, and answers when told.
struct FakeUnitBus final : UnitBus {
  struct Call {
    std::string unit;
    std::vector<UnitProperty> properties;
    Done done;
  };
  bool is_up = true;
  bool silent = false;  ///< no answer in time
  std::set<std::string> units;
  std::set<std::string> unknown_properties;  ///< an older systemd
  std::set<std::string> idle_refused;
  std::deque<Call> calls;
  std::vector<std::string> taken, tidied;
  std::size_t most = 0;

  bool up() const override { return is_up; }
  void set(const std::string& unit, const std::vector<UnitProperty>& p, Done done) override {
    calls.push_back({unit, p, std::move(done)});
    most = std::max(most, calls.size());
  }
  void tidy(const std::string& unit, const std::vector<std::string_view>& settings) override {
    for (const auto s : settings) tidied.push_back(unit + " " + std::string{s});
  }

  static bool out_of_range(const UnitProperty& p) {
    const auto* number = std::get_if<std::uint64_t>(&p.value);
    return p.name == "CPUWeight" && number != nullptr && *number > 10'000 &&
           *number != kUnitInfinity;
  }
  Result<void> judge(const Call& call) const {
    if (silent) return Error{Errc::kBusy, call.unit + ": no answer"};
    if (!units.contains(call.unit)) return Error{Errc::kNotFound, call.unit + ": no such unit"};
    for (const auto& p : call.properties) {
      if (unknown_properties.contains(p.name) || out_of_range(p)) {
        return Error{Errc::kInvalid, call.unit + ": " + p.name + " refused"};
      }
    }
    return {};
  }
  static std::string text(const Call& call) {
    std::ostringstream out;
    out << call.unit;
    for (const auto& p : call.properties) out << ' ' << p;
    return out.str();
  }
  /// Answers the calls that wait now.
  void answer() {
    auto now = std::exchange(calls, {});
    for (auto& call : now) {
      const auto result = judge(call);
      if (result) taken.push_back(text(call));
      call.done(result);
    }
  }
  void answer_all() {
    for (int i = 0; i < 1000 && !calls.empty(); ++i) answer();
  }
  std::vector<std::string> news() { return std::exchange(taken, {}); }
};

using Texts = std::vector<std::string>;

CgroupKey key(std::string_view path, CgroupFile file) {
  return {CgroupPath::parse(path).value(), file};
}
const CgroupKey kMax = key("a.slice", CgroupFile::kCpuMax);
const CgroupKey kHigh = key("a.slice", CgroupFile::kMemoryHigh);
const CgroupKey kWeight = key("a.slice", CgroupFile::kCpuWeight);
const CgroupKey kIdle = key("a.slice", CgroupFile::kCpuIdle);

CgroupValue cores(int n) { return CpuMax{Limit{std::chrono::microseconds{n * 100'000}}}; }
CgroupValue bytes(std::int64_t v) { return MemoryBound{Bytes{v}}; }

struct Rig {
  FakeUnitBus bus;
  UnitSync sync{bus};
  Rig() { bus.units = {"a.slice", "b.slice"}; }
  void round() {
    sync.send();
    bus.answer_all();
  }
};

}  // namespace

TEST_SUITE("unit sync") {
  TEST_CASE("all that changed of a unit is one call") {
    Rig rig;
    rig.sync.hold(kMax, cores(2));
    rig.sync.hold(kHigh, bytes(4096));
    CHECK(rig.bus.calls.empty());  // nothing before the batch ends
    rig.round();
    CHECK(rig.bus.news() ==
          Texts{"a.slice CPUQuotaPerSecUSec=2000000 CPUQuotaPeriodUSec=infinity MemoryHigh=4096"});
    CHECK(rig.sync.counters().sets == 1);
    CHECK(rig.sync.counters().pending == 0);
    rig.round();
    CHECK(rig.bus.news().empty());
  }

  TEST_CASE("files without a property and cgroups without a unit are left alone") {
    Rig rig;
    rig.sync.hold(key("a.slice", CgroupFile::kCpuBurst), Number{0});
    rig.sync.hold(key("kubepods/besteffort", CgroupFile::kCpuMax), cores(1));
    rig.sync.hold(key("x.scope/a.slice", CgroupFile::kCpuMax), cores(1));
    rig.round();
    CHECK(rig.bus.news().empty());
    CHECK(rig.sync.counters().units == 0);
  }

  TEST_CASE("while a call is under way nothing else goes out for the unit, then the newest value") {
    Rig rig;
    rig.sync.hold(kMax, cores(4));
    rig.sync.send();
    rig.sync.hold(kMax, cores(3));
    rig.sync.send();
    rig.sync.hold(kMax, cores(2));
    rig.sync.send();
    CHECK(rig.bus.calls.size() == 1);
    CHECK(rig.sync.settling(kMax));
    CHECK(rig.sync.settling(kWeight));  // systemd writes the whole controller
    CHECK_FALSE(rig.sync.settling(key("b.slice", CgroupFile::kCpuMax)));
    rig.bus.answer_all();
    CHECK(rig.bus.news() ==
          Texts{"a.slice CPUQuotaPerSecUSec=4000000 CPUQuotaPeriodUSec=infinity",
                "a.slice CPUQuotaPerSecUSec=2000000 CPUQuotaPeriodUSec=infinity"});
    CHECK_FALSE(rig.sync.settling(kMax));
  }

  TEST_CASE("the same value again is sent again: somebody had changed the file") {
    Rig rig;
    rig.sync.hold(kMax, cores(2));
    rig.round();
    rig.sync.hold(kMax, cores(2));
    rig.round();
    CHECK(rig.bus.news().size() == 2);
  }

  TEST_CASE("many units: a bounded number of calls at once, each unit once") {
    Rig rig;
    for (int i = 0; i < 100; ++i) {
      const auto name = "u" + std::to_string(i) + ".slice";
      rig.bus.units.insert(name);
      rig.sync.hold(key(name, CgroupFile::kCpuMax), cores(1));
    }
    rig.sync.send();
    CHECK(rig.bus.calls.size() == UnitSync::kMaxCalls);
    CHECK(rig.sync.counters().pending == 100);
    rig.bus.answer_all();
    CHECK(rig.bus.news().size() == 100);
    CHECK(rig.bus.most == UnitSync::kMaxCalls);
    CHECK(rig.sync.idle());
  }

  TEST_CASE("a unit that ended is forgotten, and is no failure") {
    Rig rig;
    rig.sync.hold(key("gone.slice", CgroupFile::kCpuMax), cores(1));
    rig.round();
    CHECK(rig.sync.counters().gone == 1);
    CHECK(rig.sync.counters().failures == 0);
    CHECK(rig.sync.counters().units == 0);
  }

  TEST_CASE("one refused property does not keep the others back, and is not sent again") {
    Rig rig;
    rig.bus.unknown_properties = {"MemoryHigh"};
    rig.sync.hold(kMax, cores(2));
    rig.sync.hold(kHigh, bytes(4096));
    rig.round();
    CHECK(rig.bus.news() ==
          Texts{"a.slice CPUQuotaPerSecUSec=2000000 CPUQuotaPeriodUSec=infinity"});
    CHECK(rig.sync.counters().failures == 1);
    CHECK(rig.sync.counters().last_error == "a.slice: MemoryHigh refused");
    rig.sync.hold(kHigh, bytes(4096));
    rig.round();
    CHECK(rig.sync.counters().failures == 1);
    rig.sync.hold(kHigh, bytes(8192));  // another value is another question
    rig.round();
    CHECK(rig.sync.counters().failures == 2);
    rig.sync.give_back(kHigh, bytes(0));  // systemd never had it
    rig.round();
    CHECK(rig.sync.counters().failures == 2);
    CHECK(rig.bus.news().empty());
  }

  TEST_CASE("out of range is refused, in range is taken again") {
    Rig rig;
    rig.sync.hold(kWeight, Number{10'001});
    rig.round();
    CHECK(rig.sync.counters().failures == 1);
    rig.sync.hold(kWeight, Number{10'000});
    rig.round();
    CHECK(rig.bus.news() == Texts{"a.slice CPUWeight=10000"});
  }

  TEST_CASE("no answer: once more with the next batch, with the value of then") {
    Rig rig;
    rig.bus.silent = true;
    rig.sync.hold(kMax, cores(2));
    rig.sync.send();
    rig.bus.answer();
    CHECK(rig.bus.calls.empty());  // not at once
    CHECK(rig.sync.idle());
    CHECK(rig.sync.counters().pending == 1);
    CHECK(rig.sync.counters().failures == 1);
    rig.bus.silent = false;
    rig.sync.hold(kMax, cores(3));
    rig.round();
    CHECK(rig.bus.news() ==
          Texts{"a.slice CPUQuotaPerSecUSec=3000000 CPUQuotaPeriodUSec=infinity"});
    CHECK(rig.sync.counters().pending == 0);
  }

  TEST_CASE("without a bus everything waits, and goes out when there is one") {
    Rig rig;
    rig.bus.is_up = false;
    rig.sync.hold(kMax, cores(2));
    rig.sync.hold(kHigh, bytes(4096));
    rig.round();
    CHECK(rig.bus.calls.empty());
    rig.sync.give_back(kHigh, bytes(0));  // never sent: nothing to undo
    rig.bus.is_up = true;
    rig.round();
    CHECK(rig.bus.news() ==
          Texts{"a.slice CPUQuotaPerSecUSec=2000000 CPUQuotaPeriodUSec=infinity"});
  }

  TEST_CASE("without a bus what was held and given back leaves nothing behind") {
    Rig rig;
    rig.bus.is_up = false;
    for (int i = 0; i < 1000; ++i) {
      const auto file = key("p" + std::to_string(i) + ".slice", CgroupFile::kCpuMax);
      rig.sync.hold(file, cores(1));
      rig.sync.send();
      if (i % 2 == 0) rig.sync.give_back(file, CpuMax{});
      if (i % 2 != 0) rig.sync.forget(file);
    }
    CHECK(rig.sync.counters().units == 0);
    CHECK(rig.sync.idle());
  }

  TEST_CASE("given back: the original is set, then the drop-ins go") {
    Rig rig;
    rig.sync.hold(kMax, cores(2));
    rig.sync.hold(kHigh, bytes(4096));
    rig.round();
    rig.bus.news();
    rig.sync.give_back(kMax, CpuMax{});
    rig.sync.send();
    CHECK(rig.bus.tidied.empty());
    rig.bus.answer_all();
    CHECK(rig.bus.news() ==
          Texts{"a.slice CPUQuotaPerSecUSec=infinity CPUQuotaPeriodUSec=infinity"});
    CHECK(rig.bus.tidied == Texts{"a.slice CPUQuota", "a.slice CPUQuotaPeriodSec"});
    CHECK(rig.sync.counters().units == 1);  // memory.high is still held
    rig.sync.give_back(kHigh, MemoryBound::unlimited());
    rig.round();
    CHECK(rig.sync.counters().units == 0);
  }

  TEST_CASE("given back by another process than the one that held it") {
    Rig rig;
    rig.sync.give_back(kMax, CpuMax{});
    rig.round();
    CHECK(rig.bus.news() ==
          Texts{"a.slice CPUQuotaPerSecUSec=infinity CPUQuotaPeriodUSec=infinity"});
    CHECK(rig.bus.tidied.size() == 2);
    CHECK(rig.sync.counters().units == 0);
  }

  TEST_CASE("given back while the first call is under way: the original comes after it") {
    Rig rig;
    rig.sync.hold(kMax, cores(2));
    rig.sync.send();
    rig.sync.give_back(kMax, CpuMax{});
    rig.sync.send();
    rig.bus.answer_all();
    CHECK(rig.bus.news().back() ==
          "a.slice CPUQuotaPerSecUSec=infinity CPUQuotaPeriodUSec=infinity");
    CHECK(rig.sync.counters().units == 0);
    CHECK(rig.bus.tidied.size() == 2);
  }

  TEST_CASE("wished again while it is given back: held again, no drop-in goes") {
    Rig rig;
    rig.sync.hold(kMax, cores(2));
    rig.round();
    rig.sync.give_back(kMax, CpuMax{});
    rig.sync.send();
    rig.sync.hold(kMax, cores(3));
    rig.round();
    CHECK(rig.bus.news().back() ==
          "a.slice CPUQuotaPerSecUSec=3000000 CPUQuotaPeriodUSec=infinity");
    CHECK(rig.bus.tidied.empty());
    CHECK(rig.sync.counters().units == 1);
  }

  TEST_CASE("the end of idle gives the weight back; the drop-in goes with the last of the two") {
    Rig rig;
    rig.sync.hold(kWeight, Number{20});
    rig.sync.hold(kIdle, Number{1});
    rig.round();
    CHECK(rig.bus.news() == Texts{"a.slice CPUWeight=0"});
    rig.sync.give_back(kIdle, Number{0});
    rig.round();
    CHECK(rig.bus.news() == Texts{"a.slice CPUWeight=20"});
    CHECK(rig.bus.tidied.empty());
    rig.sync.give_back(kWeight, Number{1});
    rig.round();
    CHECK(rig.bus.news() == Texts{"a.slice CPUWeight=1"});
    CHECK(rig.bus.tidied == Texts{"a.slice CPUWeight"});
  }

  TEST_CASE("a cgroup that went away during a call") {
    Rig rig;
    rig.sync.hold(kMax, cores(2));
    rig.sync.send();
    rig.sync.forget(kMax);
    CHECK(rig.sync.counters().units == 1);  // its call is under way
    rig.bus.answer_all();
    CHECK(rig.sync.counters().units == 0);
    CHECK(rig.sync.idle());
  }

  TEST_CASE("answers after the end are dropped") {
    FakeUnitBus bus;
    bus.units = {"a.slice"};
    {
      UnitSync sync{bus};
      sync.hold(kMax, cores(2));
      sync.send();
    }
    bus.answer_all();
    CHECK(bus.calls.empty());
  }
}
