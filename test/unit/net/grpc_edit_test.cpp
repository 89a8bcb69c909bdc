#include <boost/asio/steady_timer.hpp>
#include <doctest/doctest.h>

#include "forward_rig.hpp"
#include "reactor/task_group.hpp"

namespace koordlet::test {
namespace {

using namespace std::chrono_literals;

const std::string kPath = "/runtime.v1.RuntimeService/CreateContainer";

/// Answers as told, and remembers what it was told.
struct FakeEditor : net::GrpcEditor {
  enum class Way { kChange, kLeave, kThrow, kHang, kRefuse };

  bool wants(std::string_view path) const override { return path == kPath; }
  boost::asio::awaitable<Edit> edit(std::uint64_t call, std::string, std::string message) override {
    seen.push_back(message);
    numbers.push_back(call);
    if (way == Way::kThrow) throw std::runtime_error{"a fault of the hook"};
    if (way == Way::kHang) {
      const auto ex = co_await boost::asio::this_coro::executor;
      boost::asio::steady_timer never{ex, boost::asio::steady_timer::time_point::max()};
      co_await never.async_wait(reactor::use_ec);
      hung_ended = true;
    }
    Edit out = std::optional<std::string>{};
    if (way == Way::kRefuse) out = Error{Errc::kInvalid, "web/main: no such value"};
    if (way == Way::kChange || way == Way::kHang) *out = "edited " + message;
    co_return out;
  }
  void ended(const net::GrpcEnd& call) override {
    ends.push_back(call.number);
    in_time = call.in_time;
    if (call.answer) told.emplace_back(call.message, *call.answer);
  }

  Way way = Way::kChange;
  bool hung_ended = false;
  std::vector<std::string> seen;
  std::vector<std::uint64_t> numbers, ends;
  bool in_time = false;
  std::vector<std::pair<std::string, std::string>> told;
};

struct EditRig : FakeEditor {
  explicit EditRig(net::GrpcForward::Options options = {})
      : t{this, options}, runtime{t.io.get_executor(), t.runtime_path(), [](const GrpcCall& call) {
                                    return saying_grpc(grpc_message("to " + call.message));
                                  }} {}
  const std::string& arrived() const { return runtime.calls().back().message; }
  ProxyRig t;
  FakeCriServer runtime;
};

}  // namespace

TEST_SUITE("grpc_forward editor") {
  TEST_CASE(
      "a wanted call goes on with the editor's message; the caller's and the answer are told") {
    EditRig e;
    const auto out = e.t.post(kPath, "q");
    REQUIRE(out.has_value());
    CHECK(e.arrived() == "edited q");
    CHECK(out->body == grpc_message("to edited q"));
    REQUIRE(e.told.size() == 1);
    CHECK(e.told[0] == std::pair<std::string, std::string>{"q", "to edited q"});
    CHECK(e.t.forward.held() == 0);
    CHECK(e.t.post("/other", "q").has_value());
    CHECK(e.seen.size() == 1);
  }

  TEST_CASE(
      "nothing to change, a hook that throws, one that hangs: the caller's bytes, unchanged") {
    for (const auto way :
         {FakeEditor::Way::kLeave, FakeEditor::Way::kThrow, FakeEditor::Way::kHang}) {
      CAPTURE(static_cast<int>(way));
      net::GrpcForward::Options options;
      options.edit_timeout = 20ms;
      EditRig e{options};
      e.way = way;
      const auto out = e.t.post(kPath, "q");
      REQUIRE(out.has_value());
      CHECK(e.arrived() == "q");
      CHECK(status_of(*out) == "0");
      CHECK(e.t.forward.counters().edited == 0);
      CHECK(e.ends == e.numbers);
      CHECK(e.in_time == (way == FakeEditor::Way::kLeave));
      if (way == FakeEditor::Way::kHang) CHECK(e.t.until([&] { return e.hung_ended; }));
    }
  }

  TEST_CASE("a message above the limit, and those past the limit of all, pass unedited and whole") {
    net::GrpcForward::Options small;
    small.max_edited = 100'000;
    EditRig one{small};
    const std::string big(1u << 20, 'b');
    REQUIRE(one.t.post(kPath, big).has_value());
    CHECK(one.arrived() == big);
    CHECK(one.seen.empty());
    CHECK(one.t.forward.counters().unedited == 1);
    CHECK(one.t.forward.held() == 0);
    net::GrpcForward::Options all;
    all.max_held = 100'000;
    EditRig two{all};
    REQUIRE(two.t.post(kPath, big).has_value());
    CHECK(two.arrived() == big);
    CHECK(two.seen.empty());
    CHECK(two.t.forward.held() == 0);
  }

  TEST_CASE("a body that is no single message is passed on as it is") {
    EditRig e;
    auto request = Http2Pair::to(kPath, "\1odd");
    REQUIRE(run(e.t.io, e.t.client.post(std::move(request))).has_value());
    CHECK(e.seen.empty());
    CHECK(e.t.forward.counters().unedited == 1);
  }

  TEST_CASE("a caller that goes while the hook runs: nothing is sent") {
    EditRig e;
    e.way = FakeEditor::Way::kHang;
    OpenClient client{e.t.io, e.t.proxy_path()};
    const auto asked = client.open(kPath);
    asked->send(grpc_message("q"));
    asked->finish();
    REQUIRE(e.t.until([&] { return e.seen.size() == 1; }));
    asked->stream->reset(8);
    REQUIRE(e.t.until([&] { return e.hung_ended && e.t.proxy.streams() == 0; }));
    CHECK(e.runtime.calls().empty());
    CHECK(e.t.forward.held() == 0);
    CHECK(e.ends == e.numbers);
    CHECK(e.told.empty());
  }

  TEST_CASE("part VII, proxy: a hook that refuses: the caller hears why, the runtime nothing") {
    EditRig e;
    e.way = FakeEditor::Way::kRefuse;
    const auto out = e.t.post(kPath, "q");
    REQUIRE(out.has_value());
    CHECK(status_of(*out) == "13");
    CHECK(e.runtime.calls().empty());
    CHECK(e.t.forward.counters().refused == 1);
    CHECK(e.ends == std::vector<std::uint64_t>{1});
    CHECK(e.told.empty());
  }

  TEST_CASE("a call that failed is told without an answer, once") {
    EditRig e;
    GrpcAnswer failing;
    failing.body = grpc_message("x");
    failing.status = 13;
    e.runtime.set_script(always(failing));
    REQUIRE(e.t.post(kPath, "q").has_value());
    CHECK(e.told.empty());
    CHECK(e.ends == std::vector<std::uint64_t>{1});
  }

  TEST_CASE("the hook's time is taken off grpc-timeout") {
    EditRig e;
    REQUIRE(e.t.post(kPath, "q", {{"grpc-timeout", "10S"}}).has_value());
    const auto sent = e.runtime.calls().back().header("grpc-timeout");
    CHECK(sent != "10S");
    CHECK(sent.size() <= 9);
    REQUIRE(e.t.post("/other", "q", {{"grpc-timeout", "10S"}}).has_value());
    CHECK(e.runtime.calls().back().header("grpc-timeout") == "10S");
  }
}

}  // namespace koordlet::test
