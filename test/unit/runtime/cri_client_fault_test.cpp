#include <doctest/doctest.h>

#include "cri_fixture.hpp"

namespace koordlet::test {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShort{40};

bool says(const Error& error, std::string_view what) {
  return error.context.find(what) != std::string::npos;
}

GrpcAnswer three(GrpcFault fault) {
  auto out = saying_message(list_of(3));
  out.fault = fault;
  return out;
}

/// The first list is answered by `first`, later ones by three containers.
FakeCriServer::Script first_list(GrpcAnswer first) {
  const auto said = std::make_shared<bool>(false);
  const auto version = runtime_of("v1", {});
  return [=](const GrpcCall& call) {
    if (call.path == kVersion1) return version(call);
    return std::exchange(*said, true) ? three(GrpcFault::kNone) : first;
  };
}

std::string damaged_list() {
  const auto whole = list_of(3).str();
  return whole.substr(0, whole.size() - 7);
}

}  // namespace

TEST_SUITE("cri_client/faults") {
  TEST_CASE("no socket and nobody behind it") {
    boost::asio::io_context io;
    const FakeTree tree{{"stale", ""}};
    runtime::CriClient absent{io.get_executor(), {tree.path("absent")}};
    const auto none = run(io, absent.list_container_stats());
    REQUIRE(none.has_error());
    CHECK(none.error().code == Errc::kNotFound);
    CHECK(says(none.error(), tree.path("absent")));
    CHECK(says(none.error(), kVersion1));
    runtime::CriClient stale{io.get_executor(), {tree.path("stale")}};
    CHECK(run(io, stale.version()).error().code == Errc::kBusy);
  }

  TEST_CASE("a truncated message with the right length is kParse") {
    CriPair t{first_list(saying_grpc(grpc_message(damaged_list())))};
    const auto out = t.list();
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kParse);
    CHECK(says(out.error(), t.tree.path("s")));
    CHECK(says(out.error(), "ListContainerStatsResponse"));
    CHECK(t.list()->size() == 3);
    CHECK(t.server.accepted() == 1);
  }

  TEST_CASE("a truncated answer to Version is kParse") {
    CriPair t{always(saying_grpc(grpc_message("\x0a\x09v1")))};
    const auto out = t.version();
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kParse);
    CHECK(says(out.error(), "VersionResponse"));
  }

  TEST_CASE("wrong length prefixes are kParse") {
    const auto bytes = list_of(3).str();
    const auto size = static_cast<std::uint32_t>(bytes.size());
    for (const auto length : {0u, size - 1, size + 1, 0xffffffffu}) {
      CAPTURE(length);
      CriPair t{first_list(saying_grpc(grpc_message(bytes, length)))};
      const auto out = t.list();
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kParse);
      CHECK(says(out.error(), kList1));
      CHECK(t.list()->size() == 3);
      CHECK(t.server.accepted() == 1);
    }
  }

  TEST_CASE("a message of exactly the bound passes, one byte more is kRange") {
    const auto bytes = list_of(3).str();
    for (const bool fits : {true, false}) {
      CriPair t{runtime_of("v1", saying_grpc(grpc_message(bytes))),
                std::chrono::seconds{10},
                bytes.size() - (fits ? 0 : 1)};
      const auto out = t.list();
      if (fits) {
        REQUIRE(out.has_value());
        CHECK(out->size() == 3);
      } else {
        REQUIRE(out.has_error());
        CHECK(out.error().code == Errc::kRange);
        CHECK(says(out.error(), kList1));
      }
      REQUIRE(t.version().has_value());
      CHECK(t.server.accepted() == 1);
    }
  }

  TEST_CASE("a list of 16 MiB passes") {
    // Field 15 is not known: it fills the list up.
    auto list = list_of(3);
    const std::size_t rest = (16u << 20) - list.str().size() - 5;  // tag and 4 bytes of length
    list.bytes(15, std::string(rest, 'x'));
    REQUIRE(list.str().size() == 16u << 20);
    CriPair t{runtime_of("v1", saying_message(list))};
    const auto out = t.list();
    REQUIRE(out.has_value());
    CHECK(out->size() == 3);
  }

  TEST_CASE("frames that come byte by byte") {
    CriPair t{runtime_of("v1", three(GrpcFault::kNone))};
    t.server.set_split(true);
    const auto out = t.list();
    REQUIRE(out.has_value());
    CHECK(out->size() == 3);
  }

  TEST_CASE("GOAWAY mid-call: the list comes, the next one from a new connection") {
    CriPair t{first_list(three(GrpcFault::kGoAway))};
    CHECK(t.list()->size() == 3);
    CHECK(t.list()->size() == 3);
    CHECK(t.server.accepted() == 2);
  }

  TEST_CASE("GOAWAY below the call: the list is asked for again") {
    CriPair t{first_list(three(GrpcFault::kGoAwayBefore))};
    CHECK(t.list()->size() == 3);
    CHECK(t.server.accepted() == 2);
  }

  TEST_CASE("RST_STREAM mid-call is kBusy; the next list is whole") {
    for (const auto fault : {GrpcFault::kReset, GrpcFault::kResetHalfWay}) {
      CriPair t{first_list(three(fault))};
      const auto out = t.list();
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kBusy);
      CHECK(says(out.error(), kList1));
      CHECK(t.list()->size() == 3);
      CHECK(t.server.accepted() == 1);
    }
  }

  TEST_CASE("three quick closes: kBusy, and the next list is whole") {
    CriPair t{runtime_of("v1", three(GrpcFault::kNone))};
    t.server.close_next(3);
    const auto out = t.list();
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kBusy);
    CHECK(t.list()->size() == 3);
    CHECK(t.server.connections() == 1);
  }

  TEST_CASE("the runtime dies half way through a list") {
    CriPair t{first_list(three(GrpcFault::kCloseHalfWay))};
    const auto out = t.list();
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kBusy);
    CHECK(t.list()->size() == 3);
  }

  TEST_CASE("an oversized frame is kParse; the next list comes from a new connection") {
    const std::string frame = std::string("\0\x40\x01\0\0\0\0\0\1", 9) + std::string(16385, 'x');
    CriPair t{first_list(saying_grpc(frame, GrpcFault::kRaw))};
    const auto out = t.list();
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kParse);
    CHECK(t.list()->size() == 3);
    CHECK(t.server.accepted() == 2);
  }

  TEST_CASE("a runtime that never answers: Version and list share one time") {
    for (const char* silent : {kVersion1, kList1}) {
      CAPTURE(silent);
      const auto script = runtime_of("v1", three(GrpcFault::kNone));
      CriPair t{[=](const GrpcCall& call) {
                  return call.path == silent ? saying_grpc("", GrpcFault::kSilent) : script(call);
                },
                kShort};
      const auto out = t.list();
      REQUIRE(out.has_error());
      CHECK(out.error().code == Errc::kBusy);
      CHECK(says(out.error(), silent));
      CHECK(says(out.error(), "no answer in time"));
      CHECK(t.until([&] { return t.server.streams() == 0; }));
    }
  }

  TEST_CASE("a list that is cancelled leaves no stream") {
    CriPair t{first_list(saying_grpc("", GrpcFault::kSilent))};
    const auto call = t.start();
    REQUIRE(t.until([&] { return t.server.calls().size() == 2; }));
    call->cancel();
    REQUIRE(t.until([&] { return call->done(); }));
    REQUIRE(call->out().has_error());
    CHECK(call->out().error().code == Errc::kIo);
    CHECK(t.until([&] { return t.server.streams() == 0; }));
    CHECK(t.list()->size() == 3);
    CHECK(t.server.accepted() == 1);
  }

  TEST_CASE("a list that runs ends with kIo when the client goes") {
    for (const char* silent : {kVersion1, kList1}) {
      const auto script = runtime_of("v1", three(GrpcFault::kNone));
      CriPair t{[=](const GrpcCall& call) {
        return call.path == silent ? saying_grpc("", GrpcFault::kSilent) : script(call);
      }};
      const auto call = t.start();
      REQUIRE(t.until([&] { return !t.paths().empty() && t.paths().back() == silent; }));
      t.client.reset();
      REQUIRE(t.until([&] { return call->done(); }));
      REQUIRE(call->out().has_error());
      CHECK(call->out().error().code == Errc::kIo);
    }
  }

  TEST_CASE("the client goes while a long list is taken apart: the list is still whole") {
    auto held = saying_message(list_of(1000));
    held.held = true;
    CriPair t{runtime_of("v1", held)};
    const auto call = t.start();
    REQUIRE(t.until([&] { return t.server.calls().size() == 2; }));
    t.server.release();
    REQUIRE(t.until([&] { return t.server.streams() == 0; }));
    REQUIRE_FALSE(call->done());
    run_until(t.io, [n = 0]() mutable { return ++n > 3; });
    t.client.reset();
    REQUIRE(t.until([&] { return call->done(); }));
    if (call->out()) CHECK(call->out()->size() == 1000);
  }
}

}  // namespace koordlet::test
