#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include "app/command_line.hpp"
#include "net/grpc_client.hpp"
#include "net/listener.hpp"
#include "net/unix_connect.hpp"
#include "runtime/cri_hook_messages.hpp"
#include "support/async.hpp"
#include "support/fake_cri_server.hpp"
#include "support/fake_tree.hpp"
#include "support/skip.hpp"
#include "unit/app/built_binary.hpp"
#include "unit/runtime/nri_fixture.hpp"

namespace koordlet::test {
namespace {

using app::parse_command_line;
using app::Verb;
using std::chrono::milliseconds;

/// `koordlet cri-proxy` as a process; killed with the object.
class ProxyProcess {
 public:
  ProxyProcess(const FakeTree& tree, const std::string& listen, const std::string& runtime)
      : errors_{tree.path("errors")} {
    pid_ = ::fork();
    if (pid_ != 0) return;
    const int fd = ::open(errors_.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    ::dup2(fd, 1);
    ::dup2(fd, 2);
    ::execl(kBinary.c_str(),
            kBinary.c_str(),
            "cri-proxy",
            "--listen",
            listen.c_str(),
            "--runtime",
            runtime.c_str(),
            "--hooks",
            (listen + ".hooks").c_str(),
            "--hook-timeout",
            "10s",
            nullptr);
    ::_exit(127);
  }
  ~ProxyProcess() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    wait();
  }
  void signal(int number) const { ::kill(pid_, number); }
  int wait() {
    int status = 0;
    if (pid_ > 0) ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  std::string errors_;
  pid_t pid_ = -1;
};

bool listens(boost::asio::io_context& io, const std::string& path) {
  for (int i = 0; i < 1000; ++i) {
    if (net::connect_unix(io.get_executor(), path)) return true;
    ::usleep(10'000);
  }
  return false;
}

}  // namespace

TEST_SUITE("cri-proxy") {
  TEST_CASE("command line: paths and the grace, or what containerd and kubelet have by default") {
    const auto plain = parse_command_line({"cri-proxy"});
    REQUIRE(plain.has_value());
    CHECK(plain->verb == Verb::kCriProxy);
    CHECK(plain->proxy.runtime == "/run/containerd/containerd.sock");
    const auto all = parse_command_line({"cri-proxy",
                                         "--listen",
                                         "/run/a",
                                         "--runtime",
                                         "/run/b",
                                         "--grace",
                                         "2s",
                                         "--hooks",
                                         "/run/c",
                                         "--hook-timeout",
                                         "100ms"});
    REQUIRE(all.has_value());
    CHECK(all->proxy.listen == "/run/a");
    CHECK(all->proxy.runtime == "/run/b");
    CHECK(all->proxy.grace == milliseconds{2000});
    CHECK(all->proxy.hooks == "/run/c");
    CHECK(all->proxy.hook_timeout == milliseconds{100});
    CHECK(parse_command_line({"cri-proxy", "--hooks", ""})->proxy.hooks.empty());
  }

  TEST_CASE("command line: what is refused, in one line") {
    const std::vector<std::vector<std::string>> bad{
        {"cri-proxy", "--listen", "run/a"},
        {"cri-proxy", "--runtime", ""},
        {"cri-proxy", "--listen", "/" + std::string(107, 'a')},
        {"cri-proxy", "--listen", "/run/a", "--runtime", "/run/a"},
        {"cri-proxy", "--grace", "soon"},
        {"cri-proxy", "--hooks", "run/h"},
        {"cri-proxy", "--hooks", "/run/koordlet/cri.sock"},
        {"cri-proxy", "--hooks", "/run/containerd/containerd.sock"},
        {"cri-proxy", "--hook-timeout", "9ms"},
        {"cri-proxy", "--hook-timeout", "31s"},
        {"cri-proxy", "--hook-timeout", "long"},
        {"run", "--hooks", "/run/h"},
        {"cri-proxy", "--grace", "11m"},
        {"cri-proxy", "extra"},
        {"status", "--listen", "/run/a"}};
    for (const auto& args : bad) {
      CAPTURE(args.back());
      const auto parsed = parse_command_line(args);
      REQUIRE(parsed.has_error());
      CHECK(parsed.error().context.find('\n') == std::string::npos);
    }
  }

  TEST_CASE("a process: a stale socket is replaced, calls pass, SIGTERM ends it in order") {
    KOORDLET_SKIP_UNLESS(built(), "the program is not built");
    const FakeTree tree;
    boost::asio::io_context io;
    const auto listen = tree.path("p");
    {  // a socket file that nobody serves
      auto listener = net::Listener::unix_socket(io.get_executor(), tree.path("q")).value();
      REQUIRE(::rename(tree.path("q").c_str(), listen.c_str()) == 0);
    }
    REQUIRE(::access(listen.c_str(), F_OK) == 0);
    GrpcAnswer answer;
    answer.body = grpc_message("yes");
    FakeCriServer runtime{
        io.get_executor(), tree.path("r"), [answer](const GrpcCall&) { return answer; }};
    ProxyProcess proxy{tree, listen, tree.path("r")};
    REQUIRE(listens(io, listen));
    net::Http2Client client{io.get_executor(), {listen, milliseconds{10'000}, 1u << 20}};
    const auto out = run(io, net::grpc_call(client, "/a/B", "x", milliseconds{10'000}));
    REQUIRE(out.has_value());
    CHECK(*out == "yes");

    ProxyProcess second{tree, listen, tree.path("r")};
    CHECK(second.wait() == 1);  // the first one listens
    CHECK(::access(listen.c_str(), F_OK) == 0);
    proxy.signal(SIGTERM);
    CHECK(proxy.wait() == 0);
    CHECK(::access(listen.c_str(), F_OK) != 0);
  }

  TEST_CASE(
      "a process: a daemon that connects answers creations; without one they pass as before") {
    KOORDLET_SKIP_UNLESS(built(), "the program is not built");
    const FakeTree tree;
    boost::asio::io_context io;
    const auto id = [](std::string_view text) { return WireMessage{}.bytes(1, text).str(); };
    const auto pod = WireMessage{}.part(1, WireMessage{}.bytes(1, "web").bytes(2, "u"));
    const auto create = WireMessage{}
                            .bytes(1, "p")
                            .part(2, WireMessage{}.part(1, WireMessage{}.bytes(1, "main")))
                            .part(3, pod)
                            .str();
    const std::string service = "/runtime.v1.RuntimeService/";
    std::vector<std::string> created;
    FakeCriServer runtime{io.get_executor(), tree.path("r"), [&](const GrpcCall& call) {
                            GrpcAnswer out;
                            if (call.path.ends_with("/CreateContainer")) {
                              created.push_back(call.message);
                              out.body = grpc_message(id("c" + std::to_string(created.size())));
                            } else {
                              out.body = grpc_message("");
                            }
                            return out;
                          }};
    const auto listen = tree.path("p");
    ProxyProcess proxy{tree, listen, tree.path("r")};
    REQUIRE(listens(io, listen));
    net::Http2Client client{io.get_executor(), {listen, milliseconds{10'000}, 1u << 20}};
    const auto post = [&] {
      return run(io,
                 net::grpc_call(client, service + "CreateContainer", create, milliseconds{10'000}));
    };
    REQUIRE(post().has_value());
    CHECK(created.at(0) == create);

    ScriptedHook hook;
    runtime::NriEvents::Creation creation;
    creation.adjustment.resources.cpu_shares = 512;
    hook.creation = creation;
    const SystemClock clock;
    auto options = NriPair::quick();
    options.socket = listen + ".hooks";
    const auto nri = runtime::NriConnection::make(io.get_executor(), options, hook, clock).value();
    Started<int> task{io, NriPair::body(*nri)};
    REQUIRE(
        run_until(io, [&] { return nri->status().state == runtime::NriStatus::State::kReady; }));
    // The proxy, another process, knows a moment later that the daemon is ready.
    for (int i = 0; i < 1000 && (created.back() == create); ++i) REQUIRE(post().has_value());
    CHECK(created.back().starts_with(create));
    const auto got = runtime::parse_create_container(created.back());
    REQUIRE(got.has_value());
    CHECK(got->container.resources.cpu_shares == 512);
    CHECK(hook.last_container.name == "main");
    task.cancel();
    REQUIRE(run_until(io, [&] { return task.done(); }));
    for (int i = 0; i < 1000 && created.back() != create; ++i) REQUIRE(post().has_value());
    CHECK(created.back() == create);
    proxy.signal(SIGTERM);
    CHECK(proxy.wait() == 0);
    CHECK(::access((listen + ".hooks").c_str(), F_OK) != 0);
  }
}

}  // namespace koordlet::test
