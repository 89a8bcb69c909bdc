#include <doctest/doctest.h>

#include "unit/modules/resource_executor/rig.hpp"

using namespace koordlet;
using namespace koordlet::test;
using namespace std::chrono_literals;

namespace {

constexpr auto kV1 = CgroupVersion::kV1;
constexpr auto kV2 = CgroupVersion::kV2;

const CgroupKey kPodMax = key_of("kubepods/besteffort/pod1", CgroupFile::kCpuMax);
const CgroupKey kRootMax = key_of("kubepods/besteffort", CgroupFile::kCpuMax);

}  // namespace

TEST_SUITE("executor/apply") {
  TEST_CASE("a cap is written once, then verified without writing, then given back") {
    for (const auto version : {kV1, kV2}) {
      Rig rig{version};
      rig.tree.make("kubepods/besteffort/pod1");
      rig.tree.set(kPodMax, cpu_max(400'000));
      CHECK(rig.apply_one(kPodMax, cpu_max(120'000)).kind == OutcomeKind::kWritten);
      CHECK(rig.writes() == Texts{"/kubepods/besteffort/pod1 cpu.max = 120000 100000"});
      CHECK(rig.apply_one(kPodMax, cpu_max(120'000)).kind == OutcomeKind::kUnchanged);
      CHECK(rig.writes().empty());
      CHECK(rig.held(kPodMax).original == "400000 100000");
      CHECK(rig.held(kPodMax).value == "120000 100000");

      const auto out = rig.apply({});
      REQUIRE(out.size() == 1);
      CHECK(out[0].kind == OutcomeKind::kWritten);
      CHECK(out[0].value == "400000 100000");
      CHECK(rig.writes() == Texts{"/kubepods/besteffort/pod1 cpu.max = 400000 100000"});
      CHECK(rig.executor->held().empty());
      CHECK(rig.apply({}).empty());
      CHECK(rig.executor->counters().writes == 2);
      CHECK(rig.executor->counters().restored == 1);
    }
  }
  TEST_CASE("a file that already has the value is held but never written, and left as it is") {
    Rig rig{kV2};
    rig.tree.make("kubepods/besteffort/pod1");
    rig.tree.set(kPodMax, cpu_max(120'000));
    CHECK(rig.apply_one(kPodMax, cpu_max(120'000)).kind == OutcomeKind::kUnchanged);
    CHECK(rig.apply({}).empty());
    CHECK(rig.tree.attempts() == 0);
  }
  TEST_CASE("the owner may change a file that we hold but did not touch: the newest is original") {
    Rig rig{kV2};
    rig.tree.make("kubepods/besteffort/pod1");
    rig.tree.set(kPodMax, cpu_max(400'000));
    rig.apply_one(kPodMax, cpu_max(400'000));
    rig.tree.set(kPodMax, cpu_max(600'000));  // in-place resize, before any cap
    rig.apply_one(kPodMax, cpu_max(120'000));
    CHECK(rig.held(kPodMax).original == "600000 100000");
    CHECK(rig.executor->counters().foreign == 0);
  }
  TEST_CASE("pitfall 77: from unlimited the wish is written as it is") {
    Rig rig{kV1};
    rig.tree.make("kubepods/besteffort");
    CHECK(rig.apply_one(kRootMax, cpu_max(1'600'000)).kind == OutcomeKind::kWritten);
    CHECK(rig.tree.text(kRootMax) == "1600000 100000");
  }
  TEST_CASE("pitfall 101: v1 batch 400000 -> 200000 is accepted, containers before the pod") {
    Rig rig{kV1};
    DesiredTable table;
    for (const char* path : {"be/pod", "be/pod/a", "be/pod/b"}) {
      rig.tree.make(path);
      rig.tree.set(key_of(path, CgroupFile::kCpuMax), cpu_max(400'000));
      table.emplace(key_of(path, CgroupFile::kCpuMax), wish(cpu_max(200'000)));
    }
    for (const auto& o : rig.apply(table)) CHECK(o.kind == OutcomeKind::kWritten);
    CHECK(rig.writes() == Texts{"/be/pod/a cpu.max = 200000 100000",
                                "/be/pod/b cpu.max = 200000 100000",
                                "/be/pod cpu.max = 200000 100000"});
    for (const auto& o : rig.apply({})) CHECK(o.kind == OutcomeKind::kWritten);
    CHECK(rig.writes() == Texts{"/be/pod cpu.max = 400000 100000",
                                "/be/pod/a cpu.max = 400000 100000",
                                "/be/pod/b cpu.max = 400000 100000"});
  }
  TEST_CASE("EXE-3: the union of a moving cpuset does not stay") {
    Rig rig{kV1};
    rig.tree.make("qos/pod");
    const auto qos = key_of("qos", CgroupFile::kCpuset);
    const auto pod = key_of("qos/pod", CgroupFile::kCpuset);
    rig.tree.set(qos, cpus("0-3"));
    rig.tree.set(pod, cpus("0-3"));
    rig.apply({{qos, wish(cpus("2-5"))}, {pod, wish(cpus("2-5"))}});
    CHECK(rig.tree.text(qos) == "2-5");
    CHECK(rig.tree.text(pod) == "2-5");
    CHECK(rig.writes() == Texts{"/qos cpuset.cpus = 0-5",
                                "/qos/pod cpuset.cpus = 0-5",
                                "/qos/pod cpuset.cpus = 2-5",
                                "/qos cpuset.cpus = 2-5"});
    rig.apply({});
    CHECK(rig.tree.text(qos) == "0-3");
    CHECK(rig.tree.text(pod) == "0-3");
  }
  TEST_CASE("a child that cannot shrink keeps its parent from shrinking, reported once each") {
    Rig rig{kV1};
    DesiredTable table;
    for (const char* path : {"be", "be/pod", "be/pod/a", "be/pod/b"}) {
      rig.tree.make(path);
      rig.tree.set(key_of(path, CgroupFile::kCpuMax), cpu_max(400'000));
      table.emplace(key_of(path, CgroupFile::kCpuMax), wish(cpu_max(200'000)));
    }
    rig.tree.fail_next(key_of("be/pod/a", CgroupFile::kCpuMax), Errc::kBusy);
    const auto out = rig.apply(table);
    REQUIRE(out.size() == 4);
    CHECK(out[0].kind == OutcomeKind::kPending);
    CHECK(out[0].error.find("waits for /be/pod/a cpu.max") != std::string::npos);
    CHECK(out[1].kind == OutcomeKind::kPending);
    CHECK(out[2].kind == OutcomeKind::kPending);
    CHECK(out[2].error.find("injected") != std::string::npos);
    CHECK(out[3].kind == OutcomeKind::kWritten);
    CHECK(rig.tree.attempts() == 2);  // a and b; nobody tried the pod or the class
    rig.clock.advance(100ms);
    for (const auto& o : rig.apply(table)) CHECK(o.kind != OutcomeKind::kPending);
    CHECK(rig.tree.text(key_of("be", CgroupFile::kCpuMax)) == "200000 100000");
  }
  TEST_CASE("cpuset: EBUSY of a parent with a foreign child is retried with back-off") {
    Rig rig{kV1};
    rig.tree.make("qos/stranger");
    const auto qos = key_of("qos", CgroupFile::kCpuset);
    CHECK(rig.apply_one(qos, cpus("0-3")).kind == OutcomeKind::kPending);
    rig.tree.remove(path_of("qos/stranger"));
    CHECK(rig.apply_one(qos, cpus("0-3")).kind == OutcomeKind::kPending);  // 100 ms not over
    rig.clock.advance(100ms);
    CHECK(rig.apply_one(qos, cpus("0-3")).kind == OutcomeKind::kWritten);
  }

  TEST_CASE("transient errors back off 0.1 s, doubled, up to 10 s") {
    Rig rig{kV2};
    rig.tree.make("kubepods/besteffort/pod1");
    rig.tree.fail_next(kPodMax, Errc::kIo, 1000);
    std::chrono::milliseconds expected = 100ms;
    for (int i = 0; i < 12; ++i) {
      CAPTURE(i);
      const auto before = rig.tree.attempts();
      CHECK(rig.apply_one(kPodMax, cpu_max(120'000)).kind == OutcomeKind::kPending);
      CHECK(rig.tree.attempts() == before + 1);
      rig.clock.advance(expected - 1ms);
      CHECK(rig.apply_one(kPodMax, cpu_max(120'000)).kind == OutcomeKind::kPending);
      CHECK(rig.tree.attempts() == before + 1);
      rig.clock.advance(1ms);
      expected = std::min<std::chrono::milliseconds>(expected * 2, 10s);
    }
    rig.tree.fail_next(kPodMax, Errc::kIo, 0);
    CHECK(rig.apply_one(kPodMax, cpu_max(120'000)).kind == OutcomeKind::kWritten);
    rig.tree.fail_next(kPodMax, Errc::kIo, 1);
    rig.apply_one(kPodMax, cpu_max(130'000));
    rig.clock.advance(100ms);  // success started the count anew
    CHECK(rig.apply_one(kPodMax, cpu_max(130'000)).kind == OutcomeKind::kWritten);
  }
  TEST_CASE("EINVAL is shown with file and value, and not tried again for a minute") {
    Rig rig{kV1};
    rig.tree.make("be/pod");
    rig.tree.set(key_of("be", CgroupFile::kCpuMax), cpu_max(100'000));
    const auto pod = key_of("be/pod", CgroupFile::kCpuMax);
    auto out = rig.apply_one(pod, cpu_max(200'000));
    CHECK(out.kind == OutcomeKind::kRefused);
    CHECK(out.error == "/fake/be/pod/cpu.max: write '200000 100000': Invalid argument");
    rig.clock.advance(59s);
    CHECK(rig.apply_one(pod, cpu_max(200'000)).kind == OutcomeKind::kRefused);
    CHECK(rig.tree.attempts() == 1);
    CHECK(rig.executor->counters().refused == 1);
    SUBCASE("a minute is over") {
      rig.clock.advance(1s);
      CHECK(rig.apply_one(pod, cpu_max(200'000)).kind == OutcomeKind::kRefused);
      CHECK(rig.tree.attempts() == 2);
    }
    SUBCASE("the parent changes") {
      rig.tree.set(key_of("be", CgroupFile::kCpuMax), cpu_max(300'000));
      CHECK(rig.apply_one(pod, cpu_max(200'000)).kind == OutcomeKind::kWritten);
    }
    SUBCASE("the value changes") {
      CHECK(rig.apply_one(pod, cpu_max(90'000)).kind == OutcomeKind::kWritten);
    }
  }
  TEST_CASE("v1: a shrink refused for a child that is just being freed is tried again soon") {
    Rig rig{kV1};
    rig.tree.make("be/pod");
    const auto pod = key_of("be/pod", CgroupFile::kCpuMax);
    rig.tree.set(pod, cpu_max(400'000));
    rig.tree.fail_next(pod, Errc::kInvalid);
    CHECK(rig.apply_one(pod, cpu_max(200'000)).kind == OutcomeKind::kRefused);
    rig.clock.advance(99ms);
    CHECK(rig.apply_one(pod, cpu_max(200'000)).kind == OutcomeKind::kRefused);
    CHECK(rig.tree.attempts() == 1);
    rig.clock.advance(1ms);
    CHECK(rig.apply_one(pod, cpu_max(200'000)).kind == OutcomeKind::kWritten);
  }
  TEST_CASE("EPERM marks the file unsupported until the value changes; v1 cpuset is refused") {
    Rig rig{kV1};
    rig.tree.make("be/pod");
    const auto pod = key_of("be/pod", CgroupFile::kCpuMax);
    rig.tree.fail_next(pod, Errc::kDenied);
    CHECK(rig.apply_one(pod, cpu_max(200'000)).kind == OutcomeKind::kUnsupported);
    rig.clock.advance(1h);
    CHECK(rig.apply_one(pod, cpu_max(200'000)).kind == OutcomeKind::kUnsupported);
    CHECK(rig.tree.attempts() == 1);
    CHECK(rig.apply_one(pod, cpu_max(100'000)).kind == OutcomeKind::kWritten);
    rig.tree.set(key_of("be", CgroupFile::kCpuset), cpus("0-3"));
    rig.tree.set(key_of("be/pod", CgroupFile::kCpuset), cpus("0-1"));
    CHECK(rig.apply_one(key_of("be/pod", CgroupFile::kCpuset), cpus("4-7")).kind ==
          OutcomeKind::kRefused);
  }
  TEST_CASE("a file that this kernel lacks is unsupported, a missing cgroup is gone") {
    Rig rig{kV1};
    rig.tree.make("be");
    CHECK(rig.apply_one(key_of("be", CgroupFile::kMemoryMin), bytes(4096)).kind ==
          OutcomeKind::kUnsupported);
    CHECK(rig.apply_one(key_of("be", CgroupFile::kCpuBvt), number(-1)).kind ==
          OutcomeKind::kUnsupported);
    const auto out = rig.apply_one(key_of("nowhere", CgroupFile::kCpuMax), cpu_max(100'000));
    CHECK(out.kind == OutcomeKind::kGone);
    CHECK(out.error.empty());
    CHECK(rig.executor->held().empty());
  }
  TEST_CASE("a value of another type and an empty cpuset never reach the kernel") {
    Rig rig{kV2};
    rig.tree.make("be");
    CHECK(rig.apply_one(key_of("be", CgroupFile::kCpuMax), number(5)).kind ==
          OutcomeKind::kRefused);
    // Pitfall 118: writing "" answers ENOSPC.
    CHECK(rig.apply_one(key_of("be", CgroupFile::kCpuset), cpus("")).kind == OutcomeKind::kRefused);
    CHECK(rig.tree.attempts() == 0);
  }
  TEST_CASE("a cgroup that goes away during the write is gone, its siblings are written") {
    Rig rig{kV2};
    rig.tree.make("be/a");
    rig.tree.make("be/b");
    const auto a = key_of("be/a", CgroupFile::kCpuMax), b = key_of("be/b", CgroupFile::kCpuMax);
    rig.tree.remove_during_write(a);
    const auto out = rig.apply({{a, wish(cpu_max(50'000))}, {b, wish(cpu_max(50'000))}});
    CHECK(out.at(0).kind == OutcomeKind::kGone);
    CHECK(out.at(0).error.empty());
    CHECK(out.at(1).kind == OutcomeKind::kWritten);
    CHECK(rig.executor->held().size() == 1);
  }
  TEST_CASE("a held cgroup that went away is dropped, at verification and at release") {
    Rig rig{kV2};
    rig.tree.make("be/a");
    rig.tree.make("be/b");
    const auto a = key_of("be/a", CgroupFile::kCpuMax), b = key_of("be/b", CgroupFile::kCpuMax);
    rig.apply({{a, wish(cpu_max(50'000))}, {b, wish(cpu_max(50'000))}});
    rig.tree.remove(path_of("be/a"));
    rig.tree.remove(path_of("be/b"));
    const auto out = rig.apply({{a, wish(cpu_max(50'000))}});
    REQUIRE(out.size() == 2);
    CHECK(out[0].kind == OutcomeKind::kGone);
    CHECK(out[1].kind == OutcomeKind::kGone);
    CHECK(rig.executor->held().empty());
  }
  TEST_CASE("a cgroup made anew under the same name has a new original") {
    Rig rig{kV2};
    rig.tree.make("be/a");
    const auto a = key_of("be/a", CgroupFile::kCpuMax);
    rig.tree.set(a, cpu_max(400'000));
    rig.apply_one(a, cpu_max(120'000));
    rig.tree.remove(path_of("be/a"));
    rig.tree.make("be/a");
    rig.tree.set(a, cpu_max(300'000));
    CHECK(rig.apply_one(a, cpu_max(120'000)).kind == OutcomeKind::kWritten);
    CHECK(rig.held(a).original == "300000 100000");
    CHECK(rig.held(a).foreign_writes == 0);
    rig.tree.remove(path_of("be/a"));
    rig.tree.make("be/a");
    rig.writes();
    rig.apply({});  // not the cgroup that we changed
    CHECK(rig.writes().empty());
  }
  TEST_CASE("values that the kernel normalises are not rewritten") {
    Rig v2{kV2};
    v2.tree.make("be");
    const auto high = key_of("be", CgroupFile::kMemoryHigh);
    CHECK(v2.apply_one(high, bytes(10'000)).kind == OutcomeKind::kWritten);
    CHECK(v2.tree.text(high) == "8192");
    CHECK(v2.apply_one(high, bytes(10'000)).kind == OutcomeKind::kUnchanged);
    CHECK(v2.executor->counters().foreign == 0);
    Rig v1{kV1};
    v1.tree.make("be");
    const auto shares = key_of("be", CgroupFile::kCpuWeight);
    CHECK(v1.apply_one(shares, number(1)).kind == OutcomeKind::kWritten);
    CHECK(v1.tree.text(shares) == "2");
    CHECK(v1.apply_one(shares, number(1)).kind == OutcomeKind::kUnchanged);
  }
  TEST_CASE("dry run computes every outcome and writes nothing") {
    ResourceExecutor::Config config;
    config.dry_run = true;
    Rig rig{kV2, config};
    rig.tree.make("kubepods/besteffort/pod1");
    CHECK(rig.apply_one(kPodMax, cpu_max(120'000)).kind == OutcomeKind::kDryRun);
    CHECK(rig.apply_one(kPodMax, cpu_max(120'000)).kind == OutcomeKind::kDryRun);
    CHECK(rig.held(kPodMax).value == "120000 100000");
    CHECK(rig.held(kPodMax).kernel == "max 100000");
    CHECK(rig.apply({}).empty());
    CHECK(rig.executor->restore_all().empty());
    CHECK(rig.tree.attempts() == 0);
    CHECK(rig.executor->held().empty());
  }
  TEST_CASE("500 changes come in chunks of batch_size with the loop running between them") {
    ResourceExecutor::Config config;
    config.batch_size = 100;
    Rig rig{kV2, config};
    DesiredTable table;
    for (int i = 0; i < 500; ++i) {
      const auto path = "be/pod" + std::to_string(i);
      rig.tree.make(path);
      table.emplace(key_of(path, CgroupFile::kCpuMax), wish(cpu_max(120'000)));
    }
    // A poster that counts its turns: it runs once whenever the batch lets go of the loop.
    int turns = 0;
    std::function<void()> poster = [&] {
      ++turns;
      if (turns < 1000) boost::asio::post(rig.io, poster);
    };
    boost::asio::post(rig.io, poster);
    std::size_t largest = 0, seen = 0;
    int last_turn = 0;
    rig.tree.on_write([&](const CgroupKey&, const CgroupValue&) {
      if (turns != last_turn) seen = 0;
      last_turn = turns;
      largest = std::max(largest, ++seen);
    });
    for (const auto& o : rig.apply(table)) CHECK(o.kind == OutcomeKind::kWritten);
    CHECK(rig.tree.log().size() == 500);
    CHECK(largest == 100);
  }
  TEST_CASE("giving back while a batch is between two chunks ends the batch") {
    ResourceExecutor::Config config;
    config.batch_size = 1;
    Rig rig{kV2, config};
    rig.tree.make("be/a");
    rig.tree.make("be/b");
    const auto a = key_of("be/a", CgroupFile::kCpuMax), b = key_of("be/b", CgroupFile::kCpuMax);
    bool given_back = false;
    rig.tree.on_write([&](const CgroupKey&, const CgroupValue&) {
      if (given_back) return;
      given_back = true;
      boost::asio::post(rig.io, [&] { rig.executor->restore_all(); });
    });
    const auto out = rig.apply({{a, wish(cpu_max(50'000))}, {b, wish(cpu_max(50'000))}});
    CHECK(out.at(1).kind == OutcomeKind::kPending);
    CHECK(rig.tree.text(a) == "max 100000");
    CHECK(rig.tree.text(b) == "max 100000");
    CHECK(rig.executor->held().empty());
  }
}
