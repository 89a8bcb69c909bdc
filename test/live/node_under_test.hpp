#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "daemon_process.hpp"
#include "kernel/cgroup_fs.hpp"
#include "kernel/fd.hpp"
#include "support/fake_tree.hpp"
#include "tree.hpp"

namespace koordlet::test {

/// The program under test: beside the test program (in the VM) or where it was built.
inline std::string koordlet_program() {
  std::error_code ec;
  const auto beside =
      std::filesystem::read_symlink("/proc/self/exe", ec).parent_path() / "koordlet";
  return std::filesystem::exists(beside) ? beside.string() : KOORDLET_BINARY;
}

/// A sub-tree of the machine's real cgroups that koordlet takes for the whole machine: [host]
/// cgroup_root points into it.
class CgroupSandbox {
 public:
  CgroupSandbox() {
    const auto version = kernel::detect_cgroup_version({});
    if (!version) return;
    version_ = *version;
    const auto name = fmt::format("koordlet-test-{}", getpid());
    if (version_ == CgroupVersion::kV2) {
      make("/sys/fs/cgroup/" + name);
      roots_.cgroup = "/sys/fs/cgroup/" + name;
      usable_ = usable_ && kernel::write_file(roots_.cgroup + "/cgroup.subtree_control",
                                              "+cpu +cpuset +memory")
                               .has_value();
    } else {
      roots_.cgroup = links_.root();
      for (const auto* controller : {"cpu", "cpuacct", "cpuset", "memory"})
        make_v1(controller, name);
    }
  }
  ~CgroupSandbox() {
    for (auto dir = made_.rbegin(); dir != made_.rend(); ++dir) rmdir(dir->c_str());
  }
  CgroupSandbox(const CgroupSandbox&) = delete;
  CgroupSandbox& operator=(const CgroupSandbox&) = delete;

  bool usable() const { return usable_; }
  CgroupVersion version() const { return version_; }
  const kernel::HostRoots& roots() const { return roots_; }

 private:
  void make(const std::string& dir) {
    std::error_code ec;
    if (!std::filesystem::create_directory(dir, ec)) usable_ = false;
    made_.push_back(dir);
  }
  void make_v1(const std::string& controller, const std::string& name) {
    const auto parent = "/sys/fs/cgroup/" + controller;
    if (!std::filesystem::is_directory(parent)) return;
    const auto dir = parent + "/" + name;
    make(dir);
    if (controller == "cpuset") {
      for (const auto* file : {"/cpuset.cpus", "/cpuset.mems"}) {
        const auto value = kernel::read_file(parent + file);
        usable_ = usable_ && value && kernel::write_file(dir + file, *value).has_value();
      }
    }
    std::filesystem::create_directory_symlink(dir, links_.path(controller));
  }

  FakeTree links_;
  kernel::HostRoots roots_;
  CgroupVersion version_ = CgroupVersion::kV1;
  std::vector<std::string> made_;
  bool usable_ = true;
};

/// A node with one LS and two BE pods, and koordlet as a child process on it.
class NodeUnderTest {
 public:
  static constexpr const char* kLs = "11111111-aaaa-4aaa-8aaa-000000000001";
  static constexpr const char* kBatch = "22222222-bbbb-4bbb-8bbb-000000000002";
  static constexpr const char* kPlain = "33333333-cccc-4ccc-8ccc-000000000003";

  NodeUnderTest() {
    if (!sandbox_.usable()) return;
    auto tree = demo::DemoTree::make(sandbox_.roots(),
                                     sandbox_.version(),
                                     CgroupDriver::kCgroupfs,
                                     {{KubeQos::kBurstable, kLs, std::string(64, '1')},
                                      {KubeQos::kBestEffort, kBatch, std::string(64, '2')},
                                      {KubeQos::kBestEffort, kPlain, std::string(64, '3')}},
                                     2);
    if (!tree) return;
    tree_.emplace(std::move(*tree));
    cgroups_.emplace(sandbox_.roots(), sandbox_.version());
    // Twice the machine: whatever else runs here, the level stays NONE and the caps are known.
    folder_.write("manifests/node.yaml",
                  fmt::format("apiVersion: v1\nkind: Node\nmetadata: {{name: n}}\n"
                              "status: {{capacity: {{cpu: \"{}\", memory: 8Gi}}}}\n",
                              2 * sysconf(_SC_NPROCESSORS_ONLN)));
    folder_.write("manifests/ls.yaml", pod("web", kLs, "LS", "Burstable", "{cpu: \"1\"}"));
    folder_.write("manifests/batch.yaml",
                  pod("batch", kBatch, "BE", "BestEffort", "{kubernetes.io/batch-cpu: \"500\"}"));
    folder_.write("manifests/plain.yaml", pod("plain", kPlain, "", "BestEffort", "{}"));
    configure("");
  }

  bool usable() const { return tree_.has_value(); }
  /// `extra` is TOML that comes after the sections every test needs.
  void configure(const std::string& extra) {
    const auto& r = sandbox_.roots();
    folder_.write("koordlet.toml",
                  fmt::format("[host]\ncgroup_root = \"{0}\"\n[states]\nfolder = "
                              "\"{1}/manifests\"\n[store]\nfolder = "
                              "\"{1}/state\"\n[status]\nsocket = \"{1}/sock\"\nlisten = "
                              "\"\"\n[metrics]\nlisten = \"\"\n{2}",
                              r.cgroup,
                              folder_.root(),
                              extra));
  }
  demo::DaemonProcess& daemon() {
    if (!daemon_) {
      daemon_.emplace(demo::DaemonProcess::Files{
          koordlet_program(), config(), folder_.path("sock"), folder_.path("koordlet.log")});
    }
    return *daemon_;
  }
  int run(std::vector<std::string> arguments, std::string& output) const {
    return demo::run_program(koordlet_program(), arguments, output);
  }
  std::string config() const { return folder_.path("koordlet.toml"); }
  const FakeTree& folder() const { return folder_; }
  demo::DemoTree& tree() { return *tree_; }
  kernel::CgroupFs& cgroups() { return *cgroups_; }
  const kernel::HostRoots& roots() const { return sandbox_.roots(); }
  CgroupVersion version() const { return sandbox_.version(); }

  CgroupPath be_root() const { return tree_->layout().tier(KubeQos::kBestEffort); }
  CgroupPath batch_pod() const { return be_root().child(std::string{"pod"} + kBatch); }
  /// Canonical content of a control file, or the fault as text.
  std::string value(const CgroupPath& path, CgroupFile file) {
    const auto v = cgroups_->read({path, file});
    return v ? to_string(*v) : v.error().context;
  }

 private:
  static std::string pod(const std::string& name,
                         const std::string& uid,
                         const std::string& qos,
                         const std::string& kube_qos,
                         const std::string& requests) {
    const auto label =
        qos.empty() ? std::string{} : "  labels: {koordinator.sh/qosClass: " + qos + "}\n";
    return fmt::format(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {}\n  namespace: test\n  uid: {}\n{}"
        "spec:\n  containers: [{{name: c, resources: {{requests: {}}}}}]\n"
        "status: {{phase: Running, qosClass: {}}}\n",
        name,
        uid,
        label,
        requests,
        kube_qos);
  }

  CgroupSandbox sandbox_;
  FakeTree folder_;
  std::optional<demo::DemoTree> tree_;
  std::optional<kernel::CgroupFs> cgroups_;
  std::optional<demo::DaemonProcess> daemon_;  // last: it ends before its tree goes
};

/// Waits for a condition of another process; false after `patience`.
template <class F>
bool eventually(F condition, std::chrono::seconds patience = std::chrono::seconds{30}) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    usleep(20'000);
  }
  return true;
}

}  // namespace koordlet::test
