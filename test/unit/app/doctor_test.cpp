#include "app/doctor.hpp"

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "app/json_path.hpp"
#include "kernel/probe.hpp"
#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::app;

namespace {

constexpr const char* kPsi =
    "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"
    "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";

const Check* find(const std::vector<Check>& checks, std::string_view name) {
  for (const auto& c : checks) {
    if (c.name == name) return &c;
  }
  return nullptr;
}

Config config_for(const test::FakeTree& tree) {
  Config c;
  c.host = {tree.path("cgroup"), tree.path("proc"), tree.path("sys"), tree.path("dev")};
  c.store.folder = tree.path("store");
  c.collect.cri_socket = tree.path("run/cri.sock");
  c.collect.docker_socket = tree.path("run/docker.sock");
  return c;
}

}  // namespace

TEST_SUITE("doctor") {
  TEST_CASE("an empty host: every needed thing is a no with a next step") {
    const test::FakeTree tree{{"store/x", ""}};
    const auto checks = examine_host(config_for(tree));
    CHECK_FALSE(fit_to_run(checks));
    for (const auto& c : checks) {
      CAPTURE(c.name);
      CHECK_FALSE(c.detail.empty());
      CHECK((c.answer == Answer::kNo) == !c.advice.empty());
    }
    for (const char* name : {"kernel", "cgroup", "root", "psi of the node", "btf", "inotify"}) {
      CAPTURE(name);
      REQUIRE(find(checks, name) != nullptr);
      CHECK(find(checks, name)->answer == Answer::kNo);
    }
    CHECK(find(checks, "store folder")->answer == Answer::kYes);
    CHECK(find(checks, "resctrl")->answer == Answer::kNotApplicable);
  }

  TEST_CASE("a v1 host") {
    const test::FakeTree tree{
        {"cgroup/cpu/cgroup.procs", ""},
        {"cgroup/cpuacct/cgroup.procs", ""},
        {"cgroup/memory/cgroup.procs", ""},
        {"cgroup/cpu/kubepods/cgroup.procs", ""},
        {"proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"},
        {"proc/pressure/cpu", kPsi},
        {"proc/pressure/memory", kPsi},
        {"proc/pressure/io", kPsi},
        {"proc/self/status", "Name:\tx\nUid:\t0\t0\t0\t0\nCapEff:\t0000000000200000\n"},
        {"proc/sys/fs/inotify/max_user_instances", "128\n"},
        {"proc/sys/fs/inotify/max_user_watches", "1000\n"},
        {"sys/kernel/btf/vmlinux", "x"},
        {"store/x", ""}};
    const auto checks = examine_host(config_for(tree));
    CHECK(find(checks, "kernel")->detail == "6.1.0-18-amd64");
    CHECK(find(checks, "cgroup")->detail == "v1");
    CHECK(find(checks, "kubepods tree")->detail == "driver cgroupfs");
    CHECK(find(checks, "controller cpu")->answer == Answer::kYes);
    CHECK(find(checks, "controller cpuset")->answer == Answer::kNo);
    CHECK(find(checks, "psi of the node")->answer == Answer::kYes);
    CHECK(find(checks, "psi of cgroups")->answer == Answer::kNotApplicable);
    CHECK(find(checks, "root")->answer == Answer::kYes);
    CHECK(find(checks, "CAP_SYS_ADMIN")->answer == Answer::kYes);
    CHECK(find(checks, "CAP_SYS_RESOURCE")->answer == Answer::kNo);
    CHECK(find(checks, "inotify")->answer == Answer::kNo);
    CHECK(find(checks, "btf")->answer == Answer::kYes);
    // A plain folder makes no control files: a kernel without quotas looks the same.
    CHECK(find(checks, "cgroup write")->answer == Answer::kYes);
    CHECK(find(checks, "cpu quota")->answer == Answer::kNo);
  }

  TEST_CASE("PSI files that are there and cannot be understood are a no, with file and advice") {
    const test::FakeTree tree{{"cgroup/cpu/cgroup.procs", ""},
                              {"proc/pressure/cpu", kPsi},
                              {"proc/pressure/memory", "some avg10=0.00\n"},
                              {"proc/pressure/io", kPsi},
                              {"store/x", ""}};
    auto checks = examine_host(config_for(tree));
    const auto* node = find(checks, "psi of the node");
    CHECK(node->answer == Answer::kNo);
    CHECK(node->detail.find("pressure/memory") != std::string::npos);
    CHECK(node->advice.find("meanwhile") != std::string::npos);
    tree.write("proc/pressure/memory", kPsi);
    CHECK(find(examine_host(config_for(tree)), "psi of the node")->answer == Answer::kYes);
    tree.write("proc/pressure/memory", kPsi);  // a trigger was tried on it
    tree.remove("proc/pressure/io");
    checks = examine_host(config_for(tree));
    CHECK(find(checks, "psi of the node")->answer == Answer::kNo);
    CHECK(find(checks, "psi of the node")->advice.starts_with("use a kernel with CONFIG_PSI"));
  }

  TEST_CASE("a vendor kernel has PSI of cgroups below v1's cpuacct, and it is read") {
    const test::FakeTree tree{{"cgroup/cpu/cgroup.procs", ""},
                              {"cgroup/cpuacct/cgroup.procs", ""},
                              {"cgroup/cpuacct/cpu.pressure", kPsi},
                              {"cgroup/cpuacct/memory.pressure", kPsi},
                              {"cgroup/cpuacct/io.pressure", kPsi},
                              {"store/x", ""}};
    CHECK(find(examine_host(config_for(tree)), "psi of cgroups")->answer == Answer::kYes);
    tree.write("cgroup/cpuacct/io.pressure", "full\n");
    const auto checks = examine_host(config_for(tree));
    CHECK(find(checks, "psi of cgroups")->answer == Answer::kNo);
    CHECK(find(checks, "psi of cgroups")->detail.find("io.pressure") != std::string::npos);
  }

  TEST_CASE("each signal that is missing says what is done instead") {
    const test::FakeTree tree{
        {"cgroup/cpu/cgroup.procs", ""}, {"proc/filesystems", "nodev\tresctrl\n"}, {"store/x", ""}};
    const auto checks = examine_host(config_for(tree));
    for (const char* name :
         {"psi of the node", "psi triggers", "btf", "resctrl", "runtime (CRI)"}) {
      CAPTURE(name);
      REQUIRE(find(checks, name) != nullptr);
      CHECK(find(checks, name)->answer == Answer::kNo);
      CHECK(find(checks, name)->advice.find("meanwhile") != std::string::npos);
    }
    for (const char* name : {"cold memory", "runtime (Docker)", "psi of cgroups"}) {
      CAPTURE(name);
      REQUIRE(find(checks, name) != nullptr);
      CHECK(find(checks, name)->answer == Answer::kNotApplicable);
    }
  }

  TEST_CASE("a runtime's socket: a plain file is none, an empty setting is not asked") {
    const test::FakeTree tree{{"run/cri.sock", ""}, {"store/x", ""}};
    auto config = config_for(tree);
    config.collect.docker_socket.clear();
    const auto checks = examine_host(config);
    CHECK(find(checks, "runtime (CRI)")->answer == Answer::kNo);
    CHECK(find(checks, "runtime (CRI)")->detail.find("Connection refused") != std::string::npos);
    CHECK(find(checks, "runtime (Docker)")->answer == Answer::kNotApplicable);
    CHECK(find(checks, "runtime (Docker)")->detail.find("collect.docker_socket") !=
          std::string::npos);
  }

  TEST_CASE("text, JSON and capabilities of the same list") {
    const std::vector<Check> checks{
        {"cgroup", Answer::kYes, "v2", "", true},
        {"resctrl", Answer::kNotApplicable, "no such CPU", "", false},
        {"root", Answer::kNo, "uid 1000", "run as root", true},
    };
    CHECK(doctor_text(checks) ==
          "what     answer         detail\n"
          "cgroup   yes            v2\n"
          "resctrl  n.a.           no such CPU\n"
          "root     no (required)  uid 1000\n"
          "\n"
          "what to do:\n"
          "  root: run as root\n");
    const auto body = boost::json::parse(doctor_json(checks));
    CHECK(json_bool(body, "ok") == false);
    const auto& items = json_array(body, "checks");
    REQUIRE(items.size() == 3);
    CHECK(json_text(items[1], "answer") == "n.a.");
    CHECK(json_text(items[2], "advice") == "run as root");
    const auto capabilities = to_capabilities(checks);
    REQUIRE(capabilities.size() == 3);
    CHECK(capabilities[0].available);
    CHECK_FALSE(capabilities[1].available);
    CHECK(capabilities[1].detail == "n.a.: no such CPU");
    CHECK(capabilities[2].advice == "run as root");
  }

  TEST_CASE("all required checks hold: fit to run, whatever the optional ones say") {
    const std::vector<Check> checks{{"cgroup", Answer::kYes, "v2", "", true},
                                    {"btf", Answer::kNo, "absent", "other kernel", false}};
    CHECK(fit_to_run(checks));
  }

  TEST_CASE("the store folder may still be missing, but not below a file") {
    const test::FakeTree tree{{"file", "x"}};
    CHECK(kernel::probe_folder_writable(tree.path("a/b/c")).has_value());
    CHECK(kernel::probe_folder_writable(tree.path("file/b")).has_error());
    CHECK(kernel::probe_folder_writable(tree.root()).value() > 0);
  }

  TEST_CASE("damaged rights are an error, never no rights") {
    for (const char* body :
         {"", "Uid:\t0\n", "Uid:\t0\t0\nCapEff:\tzz\n", "Uid:\tx\ty\nCapEff:\t00\n"}) {
      CAPTURE(body);
      const test::FakeTree tree{{"proc/self/status", body}};
      kernel::HostRoots roots;
      roots.proc = tree.path("proc");
      CHECK(kernel::read_rights(roots).has_error());
    }
  }
}
