#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "app/export_text.hpp"
#include "app/query_command.hpp"
#include "app/whole_file.hpp"
#include "support/fake_tree.hpp"
#include "support/skip.hpp"

using namespace koordlet;
using namespace koordlet::app;

namespace {

constexpr const char* kMetrics = R"({"items": [
  {"metric": "node_cpu_usage", "unit": "milli-cores", "labels": [], "series": 1},
  {"metric": "pod_memory_usage", "unit": "bytes", "labels": ["pod_uid"], "series": 2}]})";

/// Two pages; the second goes on with the pod's series.
constexpr const char* kFirst = R"({"to_ms": 1700000100000, "series": 2, "series_done": 1,
 "continue": "tok", "items": [
  {"metric": "node_cpu_usage", "unit": "milli-cores", "labels": {},
   "samples": [[1700000060250, 1500], [1700000061000, 333]],
   "rollups": [[1700000000000, 60, 100, 900, 512.5, 700]]},
  {"metric": "pod_memory_usage", "unit": "bytes", "labels": {"pod_uid": "a\"b,c"},
   "samples": [[1700000000000, 9007199254740993]], "rollups": []}]})";
constexpr const char* kSecond = R"({"to_ms": 1700000200000, "series": 2, "series_done": 2,
 "continue": null, "items": [
  {"metric": "pod_memory_usage", "unit": "bytes", "labels": {"pod_uid": "a\"b,c"},
   "samples": [[1700000001000, 5]], "rollups": []}]})";

struct Daemon {
  std::vector<std::string> bodies{kMetrics, kFirst, kSecond};
  std::vector<std::string> asked;
  std::size_t fails_at = 99;
  Ask ask() {
    return [this](const std::string&, const std::string& target) -> Result<net::HttpResponse> {
      const auto n = asked.size();
      asked.push_back(target);
      if (n == fails_at) return Error{Errc::kBusy, "no answer in time"};
      return net::HttpResponse{200, "application/json", bodies.at(n)};
    };
  }
};

CommandLine export_of(std::string format, std::string output = "") {
  CommandLine out;
  out.verb = Verb::kQuery;
  out.query.format = std::move(format);
  out.query.output = std::move(output);
  return out;
}

struct Collected {
  std::string text;
  std::vector<std::string> progress;
  ExportSink sink() {
    return {[this](std::string_view piece) {
              text += piece;
              return Result<void>{};
            },
            [this](const std::string& line) { progress.push_back(line); }};
  }
};

std::string openmetrics_text() {
  Daemon daemon;
  Collected got;
  const auto out = run_export(export_of("openmetrics"), "/s", daemon.ask(), got.sink());
  REQUIRE(out.exit_code == 0);
  return got.text;
}

int run_shell(const std::string& command, std::string& text) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  while (const auto n = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, n);
  const int status = ::pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string read(const std::string& path) {
  std::ifstream in{path};
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

}  // namespace

TEST_SUITE("query export") {
  TEST_CASE("OpenMetrics: a head a family, base units, exact times, # EOF") {
    CHECK(openmetrics_text() ==
          "# TYPE koordlet_node_cpu_usage_cores gauge\n"
          "# UNIT koordlet_node_cpu_usage_cores cores\n"
          "# HELP koordlet_node_cpu_usage_cores CPU use of the node\n"
          "koordlet_node_cpu_usage_cores 0.5125 1700000000\n"
          "koordlet_node_cpu_usage_cores 1.5 1700000060.250\n"
          "koordlet_node_cpu_usage_cores 0.333 1700000061\n"
          "# TYPE koordlet_pod_memory_usage_bytes gauge\n"
          "# UNIT koordlet_pod_memory_usage_bytes bytes\n"
          "# HELP koordlet_pod_memory_usage_bytes memory use of a pod without page cache\n"
          "koordlet_pod_memory_usage_bytes{pod_uid=\"a\\\"b,c\"} 9007199254740992 1700000000\n"
          "koordlet_pod_memory_usage_bytes{pod_uid=\"a\\\"b,c\"} 5 1700000001\n"
          "# EOF\n");
  }
  TEST_CASE("CSV: a column a label, values as they are stored, where they come from") {
    Daemon daemon;
    Collected got;
    REQUIRE(run_export(export_of("csv"), "/s", daemon.ask(), got.sink()).exit_code == 0);
    CHECK(got.text ==
          "metric,unit,pod_uid,owner,time_ms,value,source\n"
          "node_cpu_usage,milli-cores,,,1700000000000,512.5,minute\n"
          "node_cpu_usage,milli-cores,,,1700000060250,1500,sample\n"
          "node_cpu_usage,milli-cores,,,1700000061000,333,sample\n"
          "pod_memory_usage,bytes,\"a\"\"b,c\",,1700000000000,9007199254740993,sample\n"
          "pod_memory_usage,bytes,\"a\"\"b,c\",,1700000001000,5,sample\n");
  }
  TEST_CASE("pages follow each other with one end, and progress is told") {
    Daemon daemon;
    Collected got;
    auto command = export_of("csv");
    command.query.metric = "pod_memory_usage";
    command.query.window = "2h";
    REQUIRE(run_export(command, "/s", daemon.ask(), got.sink()).exit_code == 0);
    REQUIRE(daemon.asked.size() == 3);
    CHECK(daemon.asked[0] == "/api/v1/series?by=metric");
    CHECK(daemon.asked[1] == "/api/v1/samples?window=2h&match=pod_memory_usage");
    CHECK(daemon.asked[2] ==
          "/api/v1/samples?window=2h&match=pod_memory_usage&end=1700000100000&continue=tok");
    const std::vector<std::string> want{"exported 1 of 2 series, 4 samples",
                                        "exported 2 of 2 series, 5 samples"};
    CHECK(got.progress == want);
  }
  TEST_CASE("a daemon that goes away: exit 1, no # EOF") {
    Daemon daemon;
    daemon.fails_at = 2;
    Collected got;
    const auto out = run_export(export_of("openmetrics"), "/s", daemon.ask(), got.sink());
    CHECK(out.exit_code == 1);
    CHECK(got.text.find("# EOF") == std::string::npos);
  }
  TEST_CASE("a full disk ends the export with the writer's words") {
    Daemon daemon;
    ExportSink sink{[](std::string_view) {
                      return Result<void>{Error{Errc::kIo, "f: write: full"}};
                    },
                    [](const std::string&) {}};
    const auto out = run_export(export_of("csv"), "/s", daemon.ask(), sink);
    CHECK(out.exit_code == 1);
    CHECK(out.err == "koordlet: f: write: full\n");
  }
  TEST_CASE(
      "--output: the file appears whole; after a failure the old one stays, and nothing else") {
    const test::FakeTree tree{{"out.csv", "old"}};
    const auto path = tree.path("out.csv");
    Daemon broken;
    broken.fails_at = 2;
    CHECK(run_export_to(export_of("csv", path), "/s", broken.ask()).exit_code == 1);
    CHECK(read(path) == "old");
    Daemon daemon;
    CHECK(run_export_to(export_of("csv", path), "/s", daemon.ask()).exit_code == 0);
    CHECK(read(path).starts_with("metric,unit,"));
    std::string listed;
    run_shell("ls " + tree.root() + " | wc -l", listed);
    CHECK(listed == "1\n");
    Daemon unused;
    const auto bad = run_export_to(export_of("csv", tree.path("no/such/f")), "/s", unused.ask());
    CHECK(bad.exit_code == 1);
    CHECK(bad.err.find("no/such/f") != std::string::npos);
    CHECK(unused.asked.empty());
  }
  TEST_CASE("--output: a signal that ends the export leaves no temporary file") {
    for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
      CAPTURE(number);
      const test::FakeTree tree{{"out.csv", "old"}};
      const auto path = tree.path("out.csv");
      const auto child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        ::signal(number, SIG_DFL);
        WholeFile file{path};
        if (!file.open() || !file.write("half")) ::_exit(1);
        ::raise(number);
        ::_exit(2);
      }
      int status = 0;
      REQUIRE(::waitpid(child, &status, 0) == child);
      REQUIRE(WIFSIGNALED(status));
      CHECK(WTERMSIG(status) == number);
      CHECK(read(path) == "old");
      std::string listed;
      run_shell("ls " + tree.root() + " | wc -l", listed);
      CHECK(listed == "1\n");
    }
  }
  TEST_CASE("--output: a signal that is ignored stays ignored, others are as before") {
    const test::FakeTree tree{{"out.csv", "old"}};
    const auto former = ::signal(SIGHUP, SIG_IGN);
    struct sigaction before {
    }, after{};
    REQUIRE(::sigaction(SIGTERM, nullptr, &before) == 0);
    {
      WholeFile file{tree.path("out.csv")};
      REQUIRE(file.open());
      REQUIRE(file.write("new"));
      ::raise(SIGHUP);
      REQUIRE(file.keep());
    }
    CHECK((::signal(SIGHUP, former) == SIG_IGN));
    REQUIRE(::sigaction(SIGTERM, nullptr, &after) == 0);
    CHECK((after.sa_handler == before.sa_handler));
    CHECK(read(tree.path("out.csv")) == "new");
  }
  TEST_CASE("--output: a limit of the file's size is an error of the write, and leaves nothing") {
    const test::FakeTree tree{{"out.csv", "old"}};
    const auto path = tree.path("out.csv");
    const auto child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const rlimit limit{3, 3};
      if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(1);
      WholeFile file{path};
      if (!file.open()) ::_exit(2);
      const auto done = file.write("longer");
      const bool named =
          done.has_error() && done.error().context.find("errno 27") != std::string::npos;  // EFBIG
      file.~WholeFile();
      ::_exit(named ? 0 : 3);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(read(path) == "old");
    std::string listed;
    run_shell("ls " + tree.root() + " | wc -l", listed);
    CHECK(listed == "1\n");
  }
  TEST_CASE("--output: a device is written to, never replaced") {
    const test::FakeTree tree;
    const auto path = tree.path("null");
    KOORDLET_SKIP_UNLESS(::mknod(path.c_str(), S_IFCHR | 0666, ::makedev(1, 3)) == 0,
                         "needs the right to make a device");
    {
      WholeFile file{path};
      if (!file.open()) {
        KOORDLET_SKIP_UNLESS(false, "devices cannot be opened on this file system");
      }
      REQUIRE(file.write("text"));
      REQUIRE(file.keep());
    }
    struct stat st {};
    REQUIRE(::stat(path.c_str(), &st) == 0);
    CHECK(S_ISCHR(st.st_mode));
    std::string listed;
    run_shell("ls " + tree.root() + " | wc -l", listed);
    CHECK(listed == "1\n");
  }
  TEST_CASE("--output: a full device is an error") {
    WholeFile file{"/dev/full"};
    REQUIRE(file.open());
    CHECK_FALSE(file.write("text"));
  }
  TEST_CASE("--output: the file behind a link is replaced, and keeps its mode") {
    const test::FakeTree tree{{"real.csv", "old"}};
    const auto real = tree.path("real.csv"), link = tree.path("link.csv");
    REQUIRE(::chmod(real.c_str(), 0640) == 0);
    REQUIRE(::symlink("real.csv", link.c_str()) == 0);
    {
      WholeFile file{link};
      REQUIRE(file.open());
      REQUIRE(file.write("new"));
      REQUIRE(file.keep());
    }
    CHECK(read(real) == "new");
    struct stat st {};
    REQUIRE(::lstat(link.c_str(), &st) == 0);
    CHECK(S_ISLNK(st.st_mode));
    REQUIRE(::stat(real.c_str(), &st) == 0);
    CHECK((st.st_mode & 07777) == 0640);
  }
  TEST_CASE("items of another shape are left out, not a crash") {
    for (const char* item : {"null",
                             "{}",
                             R"({"metric": 3, "labels": [], "samples": 3})",
                             R"({"metric": "x", "samples": [null, [], [1], ["a", 1], [1, null]]})",
                             R"({"metric": "x", "rollups": [[1, 2, 3, 4], [1, 2, 3, 4, "x"]]})"}) {
      CAPTURE(item);
      const auto series = export_series(boost::json::parse(item));
      CHECK(series.points.empty());
    }
  }
  TEST_CASE("a metric of another version: its name made safe, its values as they are") {
    ExportText text{ExportFormat::kOpenMetrics, {}};
    const auto out = text.piece(export_series(boost::json::parse(
        R"({"metric": "new-kind", "unit": null, "labels": {"owner": "x\n"}, "samples": [[1000, 7]]})")));
    CHECK(out.find("# UNIT") == std::string::npos);
    CHECK(out.find("koordlet_new_kind{owner=\"x?\"} 7 1\n") == std::string::npos);
    CHECK(out.find("koordlet_new_kind{owner=\"x\\n\"} 7 1\n") != std::string::npos);
  }
  TEST_CASE("promtool takes it: names, units and help by its linter, the whole as blocks") {
    KOORDLET_SKIP_UNLESS(::access("/usr/bin/promtool", X_OK) == 0, "no /usr/bin/promtool");
    const test::FakeTree tree{{"om.txt", openmetrics_text()}};
    std::string words;
    // The linter reads the older text format, whose times are whole milliseconds: without times,
    // and a sample a series.
    CHECK(run_shell(
              fmt::format("grep -v EOF {} | sed 's/ 17[0-9.]*$//' | awk '/^#/ || !seen[$1]++' | "
                          "/usr/bin/promtool check metrics 2>&1",
                          tree.path("om.txt")),
              words) == 0);
    CHECK(words == "");
    const auto blocks =
        run_shell(fmt::format("/usr/bin/promtool tsdb create-blocks-from openmetrics {} {} 2>&1",
                              tree.path("om.txt"),
                              tree.path("blocks")),
                  words);
    CAPTURE(words);
    CHECK(blocks == 0);
  }
}
