#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "support/fake_tree.hpp"
#include "support/skip.hpp"
#include "unit/app/built_binary.hpp"

using namespace koordlet;
using test::built;
using test::kBinary;

namespace {

struct Ran {
  int exit_code = -1;
  std::string text;
};

/// `redirect` picks the stream: "2>&1 >/dev/null" is stderr alone.
Ran run(const std::string& arguments, const std::string& redirect) {
  Ran out;
  const std::string command = kBinary + " " + arguments + " " + redirect;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> buffer;
  while (const auto n = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    out.text.append(buffer.data(), n);
  }
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) out.exit_code = WEXITSTATUS(status);
  return out;
}
constexpr const char* kStderr = "2>&1 >/dev/null";
constexpr const char* kStdout = "2>/dev/null";

auto lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

}  // namespace

TEST_SUITE("the program") {
  TEST_CASE("five faults in a file: five lines on stderr, exit 1, by check-config and by run") {
    KOORDLET_SKIP_UNLESS(built(), "the program is not built");
    const test::FakeTree tree{{"bad.toml",
                               "[qos]\ninterval = 5\nprofile = \"x\"\n[executor]\nbatch_size = 0\n"
                               "nothing = 1\n[nowhere]\n"}};
    for (const std::string& how :
         {"check-config " + tree.path("bad.toml"), "run --config " + tree.path("bad.toml")}) {
      CAPTURE(how);
      const auto ran = run(how, kStderr);
      CHECK(ran.exit_code == 1);
      CHECK(lines(ran.text) == 5);
      CHECK(ran.text.starts_with(tree.path("bad.toml") + ":2: qos.interval: 5: expected"));
      CHECK(run(how, kStdout).text.empty());
    }
  }

  TEST_CASE("usage faults: one line on stderr, exit 2") {
    KOORDLET_SKIP_UNLESS(built(), "the program is not built");
    for (const std::string how :
         {"fly", "--fly", "run extra", "explain", "--set no.such=1 status"}) {
      CAPTURE(how);
      const auto ran = run(how, kStderr);
      CHECK(ran.exit_code == 2);
      CHECK(lines(ran.text) == 1);
    }
  }

  TEST_CASE("no daemon: said in one line, exit 1") {
    KOORDLET_SKIP_UNLESS(built(), "the program is not built");
    const test::FakeTree tree;
    const auto socket = tree.path("none.sock");
    for (const std::string verb : {"status", "pods", "explain default/web"}) {
      CAPTURE(verb);
      const auto ran = run(verb + " --socket " + socket, kStderr);
      CHECK(ran.exit_code == 1);
      CHECK(ran.text == "koordlet is not running: no answer on " + socket + "\n");
    }
  }

  TEST_CASE("nothing to restore: exit 0") {
    KOORDLET_SKIP_UNLESS(built(), "the program is not built");
    const test::FakeTree tree;
    const auto ran = run(
        "restore --socket " + tree.path("none.sock") + " --set store.folder=" + tree.path("store"),
        kStdout);
    CHECK(ran.exit_code == 0);
    CHECK(ran.text.starts_with("nothing to restore"));
  }

  TEST_CASE("help and version: stdout, exit 0") {
    KOORDLET_SKIP_UNLESS(built(), "the program is not built");
    CHECK(run("help", kStdout).text.starts_with("usage: koordlet"));
    const auto version = run("version", kStdout);
    CHECK(version.exit_code == 0);
    CHECK(version.text == std::string{"koordlet "} + KOORDLET_VERSION + "\n");
  }
}
