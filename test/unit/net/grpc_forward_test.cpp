#include <doctest/doctest.h>

#include "forward_rig.hpp"
#include "net/grpc_client.hpp"

namespace koordlet::test {
namespace {

using std::chrono::milliseconds;

const std::string kOdd = "/runtime.v9.NoSuchService/NoSuchMethod";

/// Answers each call with its own message.
FakeCriServer::Script echoing() {
  return [](const GrpcCall& call) { return saying_grpc(grpc_message(call.message)); };
}

std::string bytes_of(std::size_t size) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>(i * 131 >> 3);
  return out;
}

}  // namespace

TEST_SUITE("grpc_forward") {
  TEST_CASE("a method that nobody knows, and bytes that are no message, pass unchanged") {
    ProxyRig t;
    FakeCriServer runtime{t.io.get_executor(), t.runtime_path(), echoing()};
    const auto message = bytes_of(1000);
    const auto out = t.post(kOdd, message);
    REQUIRE(out.has_value());
    CHECK(out->body == grpc_message(message));
    CHECK(status_of(*out) == "0");
    REQUIRE(runtime.calls().size() == 1);
    CHECK(runtime.calls()[0].path == kOdd);
    CHECK(runtime.calls()[0].message == message);
  }

  TEST_CASE("metadata passes both ways, binary and repeated; hop headers do not") {
    ProxyRig t;
    GrpcAnswer answer = saying_grpc(grpc_message("x"));
    answer.headers = {{"x-from-runtime", "1"}, {"trace-bin", "3q2+7w"}};
    answer.words = "fine%20so";
    FakeCriServer runtime{t.io.get_executor(), t.runtime_path(), always(answer)};
    const auto out = t.post("/a/B",
                            "q",
                            {{"grpc-timeout", "5S"},
                             {"user-agent", "grpc-go/1.65"},
                             {"k", "one"},
                             {"k", "two"},
                             {"blob-bin", "AAECAw"},
                             {"keep-alive", "3"}});
    REQUIRE(out.has_value());
    const auto& call = runtime.calls().at(0);
    CHECK(call.header("grpc-timeout") == "5S");
    CHECK(call.header("user-agent") == "grpc-go/1.65");
    CHECK(call.header("blob-bin") == "AAECAw");
    CHECK(call.header("keep-alive").empty());
    CHECK(std::count(call.headers.begin(),
                     call.headers.end(),
                     std::pair<std::string, std::string>{"k", "one"}) == 1);
    CHECK(std::count(call.headers.begin(),
                     call.headers.end(),
                     std::pair<std::string, std::string>{"k", "two"}) == 1);
    CHECK(*net::find_header(out->headers, "trace-bin") == "3q2+7w");
    CHECK(*net::find_header(out->headers, "x-from-runtime") == "1");
    CHECK(*net::find_header(out->trailers, "grpc-message") == "fine%20so");
  }

  TEST_CASE("16 MiB there and back") {
    ProxyRig t;
    FakeCriServer runtime{t.io.get_executor(), t.runtime_path(), echoing()};
    const auto message = bytes_of((16u << 20) - 5);
    const auto out = t.post("/runtime.v1.ImageService/ListImages", message);
    REQUIRE(out.has_value());
    CHECK(out->body == grpc_message(message));
  }

  TEST_CASE("1000 calls at once share one connection to the runtime") {
    ProxyRig t;
    FakeCriServer runtime{t.io.get_executor(), t.runtime_path(), echoing()};
    runtime.set_max_streams(5000);
    runtime.set_script([](const GrpcCall& call) {
      auto out = saying_grpc(grpc_message(call.message));
      out.held = true;
      return out;
    });
    std::vector<std::unique_ptr<Started<Result<net::Http2Answer>>>> all;
    for (int i = 0; i < 1000; ++i) {
      auto request = Http2Pair::to("/a/B", grpc_message(std::to_string(i)));
      all.push_back(std::make_unique<Started<Result<net::Http2Answer>>>(
          t.io, t.client.post(std::move(request))));
    }
    REQUIRE(t.until([&] { return runtime.calls().size() == 1000; }));
    CHECK(runtime.streams() == 1000);
    CHECK(t.proxy.streams() == 1000);
    runtime.release();
    REQUIRE(t.until([&] { return all.back()->done() && t.proxy.streams() == 0; }));
    for (int i = 0; i < 1000; ++i) {
      REQUIRE(all[static_cast<std::size_t>(i)]->done());
      CHECK(all[static_cast<std::size_t>(i)]->out()->body == grpc_message(std::to_string(i)));
    }
    CHECK(runtime.accepted() == 1);
    CHECK(t.upstream.streams() == 0);
  }

  TEST_CASE("a runtime that takes few streams at a time: the others wait their turn") {
    ProxyRig t;
    FakeCriServer runtime{t.io.get_executor(), t.runtime_path(), echoing()};
    runtime.set_max_streams(2);
    std::vector<std::unique_ptr<Started<Result<net::Http2Answer>>>> all;
    for (int i = 0; i < 50; ++i) {
      all.push_back(std::make_unique<Started<Result<net::Http2Answer>>>(
          t.io, t.client.post(Http2Pair::to("/a/B", grpc_message("x")))));
    }
    REQUIRE(t.until([&] {
      return std::all_of(all.begin(), all.end(), [](const auto& c) { return c->done(); });
    }));
    for (const auto& c : all) CHECK(c->out().has_value());
  }

  TEST_CASE("an error in one block of headers stays one: status 5, its words as they were") {
    ProxyRig t;
    GrpcAnswer answer;
    answer.status = 5;
    answer.words = "not%20found";
    answer.fault = GrpcFault::kTrailersOnly;
    FakeCriServer runtime{t.io.get_executor(), t.runtime_path(), always(answer)};
    const auto out = t.post("/runtime.v1.RuntimeService/StopContainer", "");
    REQUIRE(out.has_value());
    CHECK(out->trailers.empty());
    CHECK(*net::find_header(out->headers, "grpc-status") == "5");
    CHECK(*net::find_header(out->headers, "grpc-message") == "not%20found");
  }

  TEST_CASE("pitfall 146: the runtime's NOT_FOUND reaches the caller as it is") {
    ProxyRig t;
    GrpcAnswer answer = saying_grpc("");
    answer.status = 5;
    FakeCriServer runtime{t.io.get_executor(), t.runtime_path(), always(answer)};
    const auto out =
        run(t.io,
            net::grpc_call(
                t.client, "/runtime.v1.RuntimeService/StopContainer", "x", milliseconds{5000}));
    REQUIRE(out.has_error());
    CHECK(out.error().code == Errc::kNotFound);
  }

  TEST_CASE("GetContainerEvents: messages arrive while the stream stays open, and its end does") {
    ProxyRig t;
    OpenServer runtime{t.io, t.runtime_path()};
    OpenClient client{t.io, t.proxy_path()};
    const auto asked = client.open("/runtime.v1.RuntimeService/GetContainerEvents");
    asked->send(grpc_message(""));
    asked->finish();
    REQUIRE(
        t.until([&] { return !runtime.streams.empty() && runtime.streams[0]->stream->ended(); }));
    const auto served = runtime.streams[0];
    served->stream->respond(kAnswerHead, false);
    REQUIRE(t.until([&] { return asked->stream->has_head(); }));
    for (const std::string event : {"one", "two", "three"}) {
      asked->body.clear();
      served->send(grpc_message(event));
      REQUIRE(t.until([&] { return asked->body == grpc_message(event); }));
      CHECK_FALSE(asked->stream->ended());
    }
    served->finish({{"grpc-status", "0"}});
    REQUIRE(t.until([&] { return asked->stream->is_over(); }));
    CHECK(asked->trailer("grpc-status") == "0");
  }

  TEST_CASE("both directions stream at the same time") {
    ProxyRig t;
    OpenServer runtime{t.io, t.runtime_path()};
    OpenClient client{t.io, t.proxy_path()};
    const auto asked = client.open("/a/Chat");
    asked->send("1");
    REQUIRE(t.until([&] { return !runtime.streams.empty() && runtime.streams[0]->body == "1"; }));
    const auto served = runtime.streams[0];
    served->stream->respond(kAnswerHead, false);
    served->send("a");
    REQUIRE(t.until([&] { return asked->body == "a"; }));
    asked->send("2");
    REQUIRE(t.until([&] { return served->body == "12"; }));
    asked->finish();
    REQUIRE(t.until([&] { return served->stream->ended(); }));
    served->send("b");
    served->finish({{"grpc-status", "0"}});
    REQUIRE(t.until([&] { return asked->stream->is_over(); }));
    CHECK(asked->body == "ab");
  }

  TEST_CASE("a reader that takes nothing of 16 MiB: the runtime is held up, memory is not used") {
    ProxyRig t;
    OpenServer runtime{t.io, t.runtime_path()};
    OpenClient client{t.io, t.proxy_path()};
    const auto asked = client.open("/a/B");
    asked->finish();
    asked->reading = false;
    REQUIRE(t.until([&] { return !runtime.streams.empty(); }));
    const auto served = runtime.streams[0];
    const auto whole = bytes_of(16u << 20);
    served->stream->respond(kAnswerHead, false);
    served->send(whole);
    const auto still = [&, last = std::size_t{0}, turns = 0]() mutable {
      turns = std::exchange(last, served->left()) == served->left() ? turns + 1 : 0;
      return turns > 20;
    };
    REQUIRE(t.until(still));
    // The client's window, the proxy's room and window, the runtime's room.
    CHECK(whole.size() - served->left() <= 2 * net::kHttp2Window + 2 * net::kHttp2Room);
    CHECK(t.proxy.waiting_bytes() <= net::kHttp2Room);
    asked->reading = true;
    asked->changed(*asked->stream);
    served->finish({{"grpc-status", "0"}});
    REQUIRE(t.until([&] { return asked->stream->is_over(); }));
    CHECK(asked->body == whole);
  }

  TEST_CASE("every byte of the runtime in a packet of its own") {
    ProxyRig t;
    FakeCriServer runtime{t.io.get_executor(), t.runtime_path(), echoing()};
    runtime.set_split(true);
    for (int i = 0; i < 3; ++i) {
      const auto out = t.post("/a/B", "message");
      REQUIRE(out.has_value());
      CHECK(out->body == grpc_message("message"));
    }
  }

  TEST_CASE("hints before the answer are not passed on; the answer is") {
    ProxyRig t;
    auto answer = saying_grpc(grpc_message("x"));
    answer.hints = true;
    FakeCriServer runtime{t.io.get_executor(), t.runtime_path(), always(answer)};
    const auto out = t.post("/a/B", "");
    REQUIRE(out.has_value());
    CHECK(out->status == 200);
    CHECK(net::find_header(out->headers, "link") == nullptr);
    CHECK(out->body == grpc_message("x"));
  }
}

}  // namespace koordlet::test
