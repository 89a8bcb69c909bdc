#include "app/restore.hpp"

#include <doctest/doctest.h>

#include "kernel/host.hpp"
#include "store/journal.hpp"
#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::app;

namespace {

const std::string kBootId = "11111111-2222-3333-4444-555555555555";

Result<net::HttpResponse> nobody(const std::string&, const std::string&) {
  return Error{Errc::kNotFound, "connect: no such file"};
}

/// A v1 tree with one BE pod that holds a quota of koordlet.
struct Host {
  test::FakeTree tree{{"cgroup/cpu/kubepods/besteffort/podu1/cpu.cfs_quota_us", "30000\n"},
                      {"cgroup/cpu/kubepods/besteffort/podu1/cpu.cfs_period_us", "100000\n"},
                      {"proc/sys/kernel/random/boot_id", kBootId + "\n"},
                      {"store/keep", ""}};
  Config config;
  Host() {
    config.host.cgroup = tree.path("cgroup");
    config.host.proc = tree.path("proc");
    config.store.folder = tree.path("store");
    config.status.socket = tree.path("none.sock");
  }
  std::string quota() const {
    return tree.read("cgroup/cpu/kubepods/besteffort/podu1/cpu.cfs_quota_us");
  }
  void journal() {
    auto env = store::LmdbEnv::open(state_env_options(config));
    REQUIRE(env.has_value());
    kernel::CgroupFs cgroups{config.host, CgroupVersion::kV1};
    const auto path = CgroupPath::parse("kubepods/besteffort/podu1").value();
    store::JournalEntry entry;
    entry.key = {path, CgroupFile::kCpuMax};
    entry.original = "max 100000";
    entry.next = "30000 100000";
    entry.plugin = "pressure";
    entry.boot_id = kBootId;
    entry.inode = cgroups.inode(entry.key).value();
    REQUIRE(store::Journal{*env}.commit({entry}, {}).has_value());
  }
};

}  // namespace

TEST_SUITE("restore") {
  TEST_CASE("no daemon and no journal: nothing to restore, exit 0") {
    const Host host;
    const auto out = run_restore(host.config, false, nobody);
    CHECK(out.exit_code == 0);
    CHECK(out.out.starts_with("nothing to restore"));
    CHECK(out.err.empty());
  }

  TEST_CASE("an empty journal: nothing to restore, exit 0") {
    const Host host;
    { REQUIRE(store::LmdbEnv::open(state_env_options(host.config)).has_value()); }
    const auto out = run_restore(host.config, false, nobody);
    CHECK(out.exit_code == 0);
    CHECK(out.out == "nothing to restore\n");
  }

  TEST_CASE("no daemon: the journal is undone, and a second time nothing is left") {
    Host host;
    host.journal();
    const auto looked = run_restore(host.config, true, nobody);
    CHECK(looked.exit_code == 0);
    CHECK(looked.out.find("would be restored to max 100000") != std::string::npos);
    CHECK(host.quota() == "30000\n");

    const auto out = run_restore(host.config, false, nobody);
    CHECK(out.exit_code == 0);
    CHECK(out.out.find("cpu.cfs_quota_us") != std::string::npos);
    CHECK(out.out.find("restored to max 100000") != std::string::npos);
    CHECK(host.quota().starts_with("-1"));
    CHECK(run_restore(host.config, false, nobody).out == "nothing to restore\n");
  }

  TEST_CASE("a journal that a silent koordlet holds is left alone") {
    Host host;
    host.journal();
    const auto held = store::LmdbEnv::open(state_env_options(host.config));
    REQUIRE(held.has_value());
    const auto out = run_restore(host.config, false, nobody);
    CHECK(out.exit_code == 1);
    CHECK(out.err.find("does not answer on " + host.config.status.socket) != std::string::npos);
    CHECK(host.quota() == "30000\n");
  }

  TEST_CASE("a running daemon restores itself, and its failures are the command's") {
    const Host host;
    std::vector<std::string> asked;
    const Ask ask = [&](const std::string& method, const std::string& target) {
      asked.push_back(method + " " + target);
      return Result<net::HttpResponse>{net::HttpResponse{200,
                                                         "application/json",
                                                         R"({"files": 2, "failed": 1, "outcomes": [
          {"cgroup": "/kubepods/a", "file": "cpu.max", "kind": "written", "value": "max 100000", "error": null},
          {"cgroup": "/kubepods/b", "file": "cpu.max", "kind": "refused", "value": "max 100000", "error": "EINVAL"}]})"}};
    };
    const auto out = run_restore(host.config, false, ask);
    CHECK(asked.back() == "POST /api/v1/restore");
    CHECK(out.exit_code == 1);
    CHECK(out.out ==
          "/kubepods/a cpu.max: restored to max 100000\n"
          "/kubepods/b cpu.max: NOT restored to max 100000: EINVAL\n");
    CHECK(out.err == "koordlet: 1 of 2 files not restored\n");
  }

  TEST_CASE("--dry-run beside a running daemon only reads") {
    const Host host;
    std::vector<std::string> asked;
    const Ask ask = [&](const std::string& method, const std::string& target) {
      asked.push_back(method);
      return Result<net::HttpResponse>{net::HttpResponse{
          200,
          "application/json",
          target == "/api/v1/executor"
              ? R"({"held": [{"cgroup": "/kubepods/a", "file": "cpu.max", "original": "max 100000"}]})"
              : "{}"}};
    };
    const auto out = run_restore(host.config, true, ask);
    CHECK(out.exit_code == 0);
    CHECK(out.out == "/kubepods/a cpu.max: would be restored to max 100000\n");
    for (const auto& method : asked) CHECK(method == "GET");
  }
}
