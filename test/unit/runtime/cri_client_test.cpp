#include <algorithm>

#include <boost/asio/post.hpp>
#include <doctest/doctest.h>

#include "cri_fixture.hpp"
#include "support/hex.hpp"

namespace koordlet::test {
namespace {

using Paths = std::vector<std::string>;
using namespace std::string_literals;

const GrpcAnswer kThree = saying_message(list_of(3));

/// Counts the turns of the loop until told to stop.
struct Turns {
  boost::asio::io_context& io;
  int count = 0;
  bool stop = false;
  void next() {
    boost::asio::post(io, [this] {
      ++count;
      if (!stop) next();
    });
  }
};

}  // namespace

TEST_SUITE("cri_client") {
  TEST_CASE("the version of a runtime that knows v1") {
    CriPair t{runtime_of("v1", kThree)};
    const auto out = t.version();
    REQUIRE(out.has_value());
    CHECK(out->api == "v1");
    CHECK(out->runtime_name == "containerd");
    CHECK(out->runtime_version == "1.7.24");
    CHECK(t.paths() == Paths{kVersion1});
    CHECK(t.server.calls()[0].message == "\x0a\x02v1"s);  // VersionRequest{version 1}
  }

  TEST_CASE("v1 unimplemented: v1alpha2, which is remembered for the connection") {
    CriPair t{runtime_of("v1alpha2", kThree)};
    REQUIRE(t.list().has_value());
    const auto again = t.list();
    REQUIRE(again.has_value());
    CHECK(again->size() == 3);
    CHECK(t.paths() == Paths{kVersion1, kVersion1Alpha2, kList1Alpha2, kList1Alpha2});
    CHECK(t.version()->api == "v1alpha2");
    CHECK(t.server.calls().back().message == "\x0a\x08v1alpha2"s);
  }

  TEST_CASE("a runtime without the CRI, and one that is a plain web server") {
    auto web = with_status(0);
    web.http = 404;
    web.status.reset();
    for (const auto& answer : {with_status(12), web}) {
      CriPair t{always(answer)};
      const auto out = t.list();
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kNotSupported);
      CHECK(out.error().context.find(t.tree.path("s")) == 0);
      CHECK(t.paths() == Paths{kVersion1, kVersion1Alpha2});
    }
  }

  TEST_CASE("another error of Version is told as it is, and v1alpha2 is not tried") {
    CriPair t{always(with_status(7, "no%20rights"))};
    const auto out = t.list();
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kDenied);
    CHECK(out.error().context == t.tree.path("s") + ": " + kVersion1 + ": status 7: no rights");
    CHECK(t.paths() == Paths{kVersion1});
  }

  TEST_CASE("inventory: the lists, and the resources of those that have not ended") {
    const auto metadata = WireMessage{}.bytes(1, "web").bytes(2, "u").bytes(3, "shop");
    const auto pods = WireMessage{}.part(1,
                                         WireMessage{}
                                             .bytes(1, "p")
                                             .part(2, metadata)
                                             .entry(5, "l", "1")
                                             .entry(6, "a", "2")
                                             .bytes(7, "kata"));
    const auto container = [](const char* id, std::uint64_t state) {
      WireMessage out;
      out.bytes(1, id).bytes(2, "p").part(3, WireMessage{}.bytes(1, "app"));
      return out.number(6, state).entry(8, "l", "1").entry(9, "a", "2");
    };
    const auto containers = WireMessage{}
                                .part(1, container("run", 1))
                                .part(1, container("gone", 1))
                                .part(1, container("old", 2))
                                .part(1, WireMessage{}.bytes(2, "p"));  // no id
    const auto status = WireMessage{}.part(
        1,
        WireMessage{}.part(
            16,
            WireMessage{}.part(
                1,
                WireMessage{}.number(1, 100'000).number(2, 50'000).number(3, 512).number(5, 999))));
    const auto base = runtime_of("v1", kThree);
    CriPair t{[=](const GrpcCall& call) {
      if (call.path.ends_with("/ListPodSandbox")) return saying_message(pods);
      if (call.path.ends_with("/ListContainers")) return saying_message(containers);
      if (call.path.ends_with("/ContainerStatus"))
        return call.message == WireMessage{}.bytes(1, "run").str() ? saying_message(status)
                                                                   : with_status(5, "not%20found");
      return base(call);
    }};
    const auto out = run(t.io, t.client->inventory());
    REQUIRE(out.has_value());
    REQUIRE(out->pods.size() == 1);
    CHECK(out->pods[0].uid == "u");
    CHECK(out->pods[0].ns == "shop");
    CHECK(out->pods[0].runtime_handler == "kata");
    CHECK(out->pods[0].annotations == std::map<std::string, std::string>{{"a", "2"}});
    REQUIRE(out->containers.size() == 3);
    CHECK(out->containers[0].state == HookContainer::State::kRunning);
    CHECK(out->containers[0].resources.cpu_shares == 512);
    CHECK(out->containers[0].resources.cpu_quota == Limit{std::chrono::microseconds{50'000}});
    CHECK(out->containers[0].oom_score_adj == 999);
    CHECK(out->containers[1].resources == HookResources{});
    CHECK(out->containers[2].state == HookContainer::State::kStopped);
    const auto asked = t.paths();
    CHECK(std::count(asked.begin(), asked.end(), "/runtime.v1.RuntimeService/ContainerStatus") ==
          2);
  }

  TEST_CASE("reference 24: the body of an update; a runtime that refuses it is told as it is") {
    const auto base = runtime_of("v1", kThree);
    std::string got;
    CriPair t{[&](const GrpcCall& call) {
      if (!call.path.ends_with("/UpdateContainerResources")) return base(call);
      got = call.message;
      return with_status(5, "no%20such%20container");
    }};
    HookResources resources;
    resources.cpu_quota = Limit<std::chrono::microseconds>::unlimited();
    resources.cpu_shares = 512;
    resources.cpus = CpuSet::range(0, 3);
    const auto out = run(t.io, t.client->update_container("abc", resources));
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kNotFound);
    CHECK(got == from_hex("0a 03 61 62 63 12 13 10 ff ff ff ff ff ff ff ff ff 01 18 80 04 32 03 30"
                          "2d 33"));
    resources.rdt_class = "BE";
    CHECK(run(t.io, t.client->update_container("abc", resources)).error().code ==
          Errc::kNotSupported);
  }

  TEST_CASE("container statistics") {
    CriPair t{runtime_of("v1", kThree)};
    const auto out = t.list();
    REQUIRE(out.has_value());
    REQUIRE(out->size() == 3);
    CHECK((*out)[2].id == "id2");
    CHECK((*out)[2].name == "app");
    CHECK((*out)[2].pod_uid == "uid-2");
    CHECK((*out)[2].cpu_usage == std::chrono::nanoseconds{1002});
    CHECK((*out)[2].memory_usage == Bytes{3002});
    CHECK(t.paths() == Paths{kVersion1, kList1});
    CHECK(t.server.calls()[1].message.empty());  // no filter
  }

  TEST_CASE("no container is an empty list") {
    CriPair t{runtime_of("v1", saying_message(WireMessage{}))};
    const auto out = t.list();
    REQUIRE(out.has_value());
    CHECK(out->empty());
  }

  TEST_CASE("pod sandbox statistics, and a runtime that has none") {
    const auto attributes = WireMessage{}.bytes(1, "abc").part(2, WireMessage{}.bytes(2, "uid-1"));
    const auto linux_part = WireMessage{}.part(1, WireMessage{}.boxed(2, 1000));
    const auto entry = WireMessage{}.part(1, attributes).part(2, linux_part);
    CriPair t{runtime_of("v1", saying_message(WireMessage{}.part(1, entry)))};
    const auto out = t.sandboxes();
    REQUIRE(out.has_value());
    REQUIRE(out->size() == 1);
    CHECK((*out)[0].pod_uid == "uid-1");
    CHECK((*out)[0].cpu_usage == std::chrono::nanoseconds{1000});
    CHECK(t.paths() == Paths{kVersion1, kSandboxes1});

    CriPair none{runtime_of("v1", with_status(12, "unknown method"))};
    const auto refused = none.sandboxes();
    REQUIRE(refused.has_error());
    CHECK(refused.error().code == Errc::kNotSupported);
    CHECK(refused.error().context.find(kSandboxes1) != std::string::npos);
    REQUIRE(none.version().has_value());
  }

  TEST_CASE("a restarted runtime is asked for its version again") {
    CriPair t{runtime_of("v1", kThree)};
    REQUIRE(t.list().has_value());
    t.server.drop_connections();
    run_until(t.io, [n = 0]() mutable { return ++n > 5; });
    REQUIRE(t.list().has_value());
    // The connection is made by the list itself; the version is asked before the next one.
    REQUIRE(t.list().has_value());
    CHECK(t.paths() == Paths{kVersion1, kList1, kList1, kVersion1, kList1});
    CHECK(t.server.accepted() == 2);
  }

  TEST_CASE("a runtime that was replaced by one that knows another version") {
    CriPair t{runtime_of("v1alpha2", kThree)};
    REQUIRE(t.list().has_value());
    t.server.set_script(runtime_of("v1", kThree));
    t.server.drop_connections();
    const auto out = t.list();
    REQUIRE(out.has_value());
    CHECK(out->size() == 3);
    CHECK(t.version()->api == "v1");
  }

  TEST_CASE("calls overlap") {
    auto held = kThree;
    held.held = true;
    CriPair t{runtime_of("v1", held)};
    const auto a = t.start(), b = t.start();
    REQUIRE(t.until([&] { return t.server.calls().size() == 4; }));
    t.server.release();
    REQUIRE(t.until([&] { return a->done() && b->done(); }));
    CHECK(a->out()->size() == 3);
    CHECK(b->out()->size() == 3);
    CHECK(t.server.accepted() == 1);
  }

  TEST_CASE("a list of 1000 containers is taken apart in turns of the loop") {
    CriPair t{runtime_of("v1", saying_message(list_of(1000)))};
    auto held = saying_message(list_of(1000));
    held.held = true;
    t.server.set_script(runtime_of("v1", held));
    const auto call = t.start();
    REQUIRE(t.until([&] { return t.server.calls().size() == 2; }));
    t.server.release();
    Turns turns{t.io};
    turns.next();
    REQUIRE(t.until([&] { return call->done(); }));
    turns.stop = true;
    t.io.poll();
    REQUIRE(call->out().has_value());
    REQUIRE(call->out()->size() == 1000);
    CHECK(call->out()->at(999).id == "id999");
    CHECK(turns.count >= 10);  // 100 entries at once
  }
}

}  // namespace koordlet::test
