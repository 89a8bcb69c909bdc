#include "policy/arbiter.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "unit/policy/world.hpp"

using namespace koordlet;
using namespace koordlet::policy;
using namespace koordlet::test;
using std::chrono::seconds;

namespace {

const CgroupPath kPod = kBeRoot.child("pod1");
const MonoTime kNow{seconds{50}};

Proposal propose(const CgroupPath& at,
                 CgroupFile file,
                 CgroupValue value,
                 Role role,
                 std::string plugin,
                 std::string reason = "because") {
  return {{at, file}, std::move(value), role, std::move(plugin), std::move(reason)};
}

Proposal cpu(const CgroupPath& at, std::int64_t us, Role role, std::string plugin) {
  return propose(at, CgroupFile::kCpuMax, quota(us), role, std::move(plugin));
}

Proposal set(std::string_view cpus, std::string plugin) {
  return propose(
      kPod, CgroupFile::kCpuset, CpuSet::parse(cpus).value(), Role::kCap, std::move(plugin));
}

DesiredTable merge(const std::vector<Proposal>& all,
                   CgroupVersion version = CgroupVersion::kV2,
                   const DesiredTable& previous = {}) {
  return arbitrate(all, previous, version, kBeRoot, kNow);
}

bool same(const DesiredTable& a, const DesiredTable& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.value == y.second.value &&
           x.second.role == y.second.role && x.second.plugin == y.second.plugin &&
           x.second.reason == y.second.reason && x.second.since == y.second.since &&
           x.second.losers == y.second.losers && x.second.order == y.second.order;
  });
}

}  // namespace

TEST_SUITE("policy/arbiter roles") {
  TEST_CASE("MER-1: a cap below the base wins") {
    const auto t =
        merge({cpu(kPod, 600'000, Role::kBase, "spec"), cpu(kPod, 120'000, Role::kCap, "b")});
    CHECK(wish(t, kPod) == "120000 100000");
    const auto& d = t.at({kPod, CgroupFile::kCpuMax});
    CHECK(d.plugin == "b");
    CHECK(d.role == Role::kCap);
    REQUIRE(d.losers.size() == 1);
    CHECK(d.losers[0].plugin == "spec");
  }

  TEST_CASE("MER-2: a boost replaces the base, and a cap bounds the boost") {
    std::vector<Proposal> all{cpu(kPod, 200'000, Role::kBase, "spec"),
                              cpu(kPod, 288'000, Role::kBoost, "burst")};
    CHECK(wish(merge(all), kPod) == "288000 100000");
    CHECK(merge(all).at({kPod, CgroupFile::kCpuMax}).plugin == "burst");
    all.push_back(cpu(kPod, 240'000, Role::kCap, "cap"));
    CHECK(wish(merge(all), kPod) == "240000 100000");
    CHECK(merge(all).at({kPod, CgroupFile::kCpuMax}).losers.size() == 2);
  }

  TEST_CASE("a cap above the boost does not lift it, a base alone stands") {
    CHECK(wish(merge({cpu(kPod, 200'000, Role::kBase, "spec"),
                      cpu(kPod, 500'000, Role::kCap, "cap")}),
               kPod) == "200000 100000");
    CHECK(wish(merge({cpu(kPod, 200'000, Role::kBase, "spec")}), kPod) == "200000 100000");
  }

  TEST_CASE("MER-3: cpusets intersect, and the answer names both") {
    const auto t = merge({set("4-9", "b"), set("0-7", "a")});
    CHECK(wish(t, kPod, CgroupFile::kCpuset) == "4-7");
    const auto& d = t.at({kPod, CgroupFile::kCpuset});
    CHECK(d.plugin == "a+b");
    CHECK(d.reason == "common to 0-7 (because) and 4-9 (because)");
    CHECK(d.losers.size() == 2);
  }

  TEST_CASE("cpusets that share nothing: the smaller one, a tie by the plugin's name") {
    CHECK(wish(merge({set("0-3", "a"), set("4-5", "b")}), kPod, CgroupFile::kCpuset) == "4-5");
    CHECK(wish(merge({set("4-5", "b"), set("0-1", "a")}), kPod, CgroupFile::kCpuset) == "0-1");
  }

  TEST_CASE("MER-4: unlimited is the weakest bound, not the smallest number") {
    const MemoryBound open = MemoryBound::unlimited();
    const MemoryBound one{Bytes{1'048'576}};
    const auto high = [](const MemoryBound& b, std::string plugin) {
      return propose(kPod, CgroupFile::kMemoryHigh, b, Role::kCap, std::move(plugin));
    };
    CHECK(wish(merge({high(open, "a"), high(one, "b")}), kPod, CgroupFile::kMemoryHigh) ==
          "1048576");
    CHECK(stricter_value(CgroupFile::kCpuMax, CpuMax{}, quota(5000)) == CgroupValue{quota(5000)});
  }
}

TEST_SUITE("policy/arbiter values") {
  TEST_CASE("cpu.max compares shares, not quotas") {
    const CpuMax half{Limit{std::chrono::microseconds{25'000}}, std::chrono::microseconds{50'000}};
    CHECK(stricter_value(CgroupFile::kCpuMax, half, quota(40'000)) == CgroupValue{quota(40'000)});
    CHECK(stricter_value(CgroupFile::kCpuMax, half, quota(60'000)) == CgroupValue{half});
    CHECK(stricter_value(CgroupFile::kCpuMax, quota(50'000), half) ==
          stricter_value(CgroupFile::kCpuMax, half, quota(50'000)));
  }

  TEST_CASE("weight, identity and protection: minimum; idle: maximum") {
    const auto number = [](CgroupFile f, int a, int b) {
      return stricter_value(f, Number{a}, Number{b});
    };
    CHECK(number(CgroupFile::kCpuWeight, 100, 2) == CgroupValue{Number{2}});
    CHECK(number(CgroupFile::kCpuBvt, 0, -1) == CgroupValue{Number{-1}});
    CHECK(number(CgroupFile::kCpuIdle, 0, 1) == CgroupValue{Number{1}});
    CHECK(stricter_value(CgroupFile::kMemoryMin,
                         MemoryBound{Bytes{10}},
                         MemoryBound::unlimited()) == CgroupValue{MemoryBound{Bytes{10}}});
  }

  TEST_CASE("a value of another file's type is a programming fault") {
    CHECK_THROWS_AS(stricter_value(CgroupFile::kCpuMax, Number{1}, quota(1000)),
                    std::invalid_argument);
    CHECK_THROWS_AS(merge({propose(kPod, CgroupFile::kCpuset, Number{1}, Role::kCap, "x")}),
                    std::invalid_argument);
  }
}

TEST_SUITE("policy/arbiter table") {
  TEST_CASE("any order of proposals gives the same table") {
    std::vector<Proposal> all{cpu(kBeRoot, 100'000, Role::kCap, "suppress"),
                              cpu(kBeRoot, 100'000, Role::kCap, "pressure"),
                              cpu(kPod, 120'000, Role::kCap, "pressure"),
                              set("0-3", "a"),
                              set("2-5", "b"),
                              set("8-9", "c")};
    std::vector<std::size_t> order{0, 1, 2, 3, 4, 5};
    const auto want = merge(all, CgroupVersion::kV1);
    int permutations = 0;
    do {
      std::vector<Proposal> shuffled;
      for (const auto i : order) shuffled.push_back(all[i]);
      REQUIRE(same(merge(shuffled, CgroupVersion::kV1), want));
      ++permutations;
    } while (std::next_permutation(order.begin(), order.end()));
    CHECK(permutations == 720);
  }

  TEST_CASE("since stays while the value stays, whatever the reason says") {
    DesiredTable before = merge({cpu(kPod, 120'000, Role::kCap, "b")});
    before.at({kPod, CgroupFile::kCpuMax}).since = MonoTime{seconds{7}};
    auto again = cpu(kPod, 120'000, Role::kCap, "b");
    again.reason = "still";
    auto t = merge({again}, CgroupVersion::kV2, before);
    CHECK(t.at({kPod, CgroupFile::kCpuMax}).since == MonoTime{seconds{7}});
    CHECK(t.at({kPod, CgroupFile::kCpuMax}).reason == "still");
    t = merge({cpu(kPod, 130'000, Role::kCap, "b")}, CgroupVersion::kV2, before);
    CHECK(t.at({kPod, CgroupFile::kCpuMax}).since == kNow);
  }

  TEST_CASE("the BE root is written first, the others by depth; no proposals, no table") {
    const auto t = merge({cpu(kPod, 1000, Role::kCap, "b"),
                          cpu(kBeRoot, 2000, Role::kCap, "b"),
                          cpu(kPod.child("c"), 1000, Role::kCap, "b")});
    CHECK(t.at({kBeRoot, CgroupFile::kCpuMax}).order == 0);
    CHECK(t.at({kPod, CgroupFile::kCpuMax}).order == 3);
    CHECK(t.at({kPod.child("c"), CgroupFile::kCpuMax}).order == 4);
    CHECK(merge({}).empty());
  }

  TEST_CASE("v1: a quota is not above the nearest bound over it; v2 leaves it") {
    const std::vector<Proposal> all{cpu(kPod, 120'000, Role::kCap, "pressure"),
                                    cpu(kBeRoot, 50'000, Role::kCap, "suppress"),
                                    cpu(kPod.child("c"), 110'000, Role::kCap, "pressure")};
    const auto v1 = merge(all, CgroupVersion::kV1);
    CHECK(wish(v1, kPod) == "50000 100000");
    CHECK(wish(v1, kPod.child("c")) == "50000 100000");
    const auto& pod = v1.at({kPod, CgroupFile::kCpuMax});
    CHECK(pod.reason == "because; not above its parent's 50000 100000 (suppress)");
    REQUIRE(pod.losers.size() == 1);
    CHECK(to_string(pod.losers[0].value) == "120000 100000");
    CHECK(wish(merge(all), kPod) == "120000 100000");
  }

  TEST_CASE("v1: an unlimited child needs no bound, an unlimited parent gives none") {
    auto open = cpu(kPod, 1, Role::kCap, "x");
    open.value = CpuMax{};
    CHECK(wish(merge({open, cpu(kBeRoot, 50'000, Role::kCap, "s")}, CgroupVersion::kV1), kPod) ==
          "max 100000");
    auto parent = cpu(kBeRoot, 1, Role::kCap, "x");
    parent.value = CpuMax{};
    CHECK(wish(merge({parent, cpu(kPod, 50'000, Role::kCap, "s")}, CgroupVersion::kV1), kPod) ==
          "50000 100000");
  }
}
