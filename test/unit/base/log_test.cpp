#include "base/log.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <doctest/doctest.h>

#include "support/fake_tree.hpp"

using namespace koordlet;

namespace {

/// Sends descriptor 2 to a file while it lives.
class StderrCapture {
 public:
  StderrCapture() : saved_{::dup(STDERR_FILENO)} {
    std::fflush(stderr);
    tree_.write("err", "");
    std::FILE* const file = std::fopen(tree_.path("err").c_str(), "a");
    ::dup2(::fileno(file), STDERR_FILENO);
    std::fclose(file);
  }
  ~StderrCapture() { restore(); }
  std::vector<std::string> lines() {
    restore();
    std::vector<std::string> out;
    std::istringstream in{tree_.read("err")};
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }

 private:
  void restore() {
    if (saved_ < 0) return;
    std::fflush(stderr);
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
    saved_ = -1;
  }
  test::FakeTree tree_;
  int saved_;
};

std::vector<std::string> logged(const log::Options& options,
                                std::string_view subject,
                                std::string_view text) {
  StderrCapture capture;
  log::start(options);
  log::warn(subject, text);
  log::stop();
  return capture.lines();
}

}  // namespace

TEST_SUITE("log") {
  TEST_CASE("a newline in outside text cannot forge a second line") {
    const auto lines = logged({}, "pod a\nb", "name\n2026-01-01T00:00:00 error forged: x\r\x1b[2J");
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].find(" warning pod a\\x0ab: name\\x0a2026") != std::string::npos);
    CHECK(lines[0].find("\\x0d\\x1b[2J") != std::string::npos);
    CHECK(lines[0].find('\x1b') == std::string::npos);
  }

  TEST_CASE("a quote in outside text cannot forge a JSON member") {
    log::Options options;
    options.json = true;
    const auto lines = logged(options, "s", "a\",\"level\":\"x\\\n");
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].find(R"("level":"warning","subject":"s","text":"a\",\"level\":\"x\\\u000a"})") !=
          std::string::npos);
  }

  TEST_CASE("format characters of outside text are plain text") {
    const auto lines = logged({}, "s", "{} {0} %v %n");
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].ends_with("s: {} {0} %v %n"));
  }

  TEST_CASE("lines below the level are left out, stop() writes what is queued") {
    StderrCapture capture;
    log::start({});
    log::debug("s", "no");
    for (int i = 0; i < 100; ++i) log::info("s", "yes");
    log::stop();
    CHECK(capture.lines().size() == 100);
  }

  TEST_CASE("before start() a warning goes straight to stderr, escaped") {
    StderrCapture capture;
    log::warn("s", "a\nb");
    const auto lines = capture.lines();
    REQUIRE(lines.size() == 1);
    CHECK(lines[0] == "s: a\\x0ab");
  }
}
