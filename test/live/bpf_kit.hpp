#pragma once

#include <atomic>
#include <bpf/bpf.h>
#include <chrono>
#include <cstdint>
#include <dirent.h>
#include <filesystem>
#include <functional>
#include <optional>
#include <sched.h>
#include <set>
#include <signal.h>
#include <string>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/cgroup_fs.hpp"
#include "kernel/fd.hpp"

/// What the live tests and benches of the BPF programs share: cgroups, and processes in them that
/// run exactly when they are told to.
namespace koordlet::test {

/// One cgroup directory; removed with the object. Children must go first.
class LiveCgroup {
 public:
  explicit LiveCgroup(std::string directory) : directory_{std::move(directory)} {
    ok_ = ::mkdir(directory_.c_str(), 0755) == 0;
  }
  ~LiveCgroup() { remove(); }
  LiveCgroup(const LiveCgroup&) = delete;
  LiveCgroup& operator=(const LiveCgroup&) = delete;

  bool ok() const { return ok_; }
  const std::string& directory() const { return directory_; }
  std::string file(std::string_view name) const { return fmt::format("{}/{}", directory_, name); }
  kernel::Inode id() const {
    struct stat st {};
    return ::stat(directory_.c_str(), &st) == 0 ? st.st_ino : 0;
  }
  void remove() {
    // A task that was just killed may need a moment to leave.
    for (int i = 0; ok_ && ::rmdir(directory_.c_str()) != 0 && errno == EBUSY && i < 200; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    ok_ = false;
  }

 private:
  std::string directory_;
  bool ok_ = false;
};

/// A process in a cgroup and on one CPU. It does its work between go() and halt(), and is stopped
/// before and after: what the kernel counts for it then stands still.
class HeldProcess {
 public:
  HeldProcess(const LiveCgroup& group, int cpu, std::function<void()> work) {
    const std::string procs = group.file("cgroup.procs");
    pid_ = ::fork();
    if (pid_ != 0) {
      stopped_ = wait_stopped();
      return;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(300);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (!kernel::write_file(procs, fmt::format("{}", ::getpid())) ||
        ::sched_setaffinity(0, sizeof set, &set) != 0) {
      ::_exit(1);
    }
    ::raise(SIGSTOP);
    for (;;) work();
  }
  ~HeldProcess() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  HeldProcess(const HeldProcess&) = delete;
  HeldProcess& operator=(const HeldProcess&) = delete;

  bool ok() const { return stopped_; }
  void go() const { ::kill(pid_, SIGCONT); }
  bool halt() const {
    ::kill(pid_, SIGSTOP);
    return wait_stopped();
  }
  /// Of its only thread, by the kernel's own count; nullopt: it keeps none.
  struct SchedStat {
    std::chrono::nanoseconds run, wait;
    std::uint64_t dispatches;
  };
  std::optional<SchedStat> sched_stat() const {
    const auto text = kernel::read_file(fmt::format("/proc/{}/schedstat", pid_));
    if (!text) return std::nullopt;
    std::string_view rest = *text;
    const auto run = parse_u64(next_field(rest).value_or(""));
    const auto wait = parse_u64(next_field(rest).value_or(""));
    const auto dispatches = parse_u64(next_field(rest).value_or(""));
    if (!run || !wait || !dispatches) return std::nullopt;
    return SchedStat{std::chrono::nanoseconds{*run}, std::chrono::nanoseconds{*wait}, *dispatches};
  }
  /// Waits until it sleeps by itself.
  bool falls_asleep() const {
    for (int i = 0; i < 500; ++i) {
      const auto text = kernel::read_file(fmt::format("/proc/{}/stat", pid_));
      if (text && text->find(") S ") != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    return false;
  }

 private:
  bool wait_stopped() const {
    int status = 0;
    if (::waitpid(pid_, &status, WUNTRACED) != pid_ || !WIFSTOPPED(status)) return false;
    // The parent hears of it while the process is still on its CPU, and is charged for it.
    for (int i = 0; i < 500; ++i) {
      const auto call = kernel::read_file(fmt::format("/proc/{}/syscall", pid_));
      if (!call || !call->starts_with("running")) break;
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return true;
  }

  pid_t pid_ = -1;
  bool stopped_ = false;
};

inline void spin() {
  static std::atomic<unsigned> turns{0};
  for (int i = 0; i < 100'000; ++i) turns.fetch_add(1, std::memory_order_relaxed);
}

/// Kernel ids of the BPF programs that this process holds, from its descriptors.
inline std::set<std::uint32_t> held_bpf_programs() {
  std::set<std::uint32_t> out;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fdinfo"}) {
    const auto text = kernel::read_file(entry.path());
    if (!text) continue;  // of the listing itself
    std::string_view rest = *text;
    while (auto line = next_line(rest)) {
      if (!line->starts_with("prog_id:")) continue;
      line->remove_prefix(8);
      if (const auto id = parse_u64(trim(*line)); id) out.insert(static_cast<std::uint32_t>(*id));
    }
  }
  return out;
}

/// Programs of `ids` that the kernel still has, after a while: it frees them behind our back.
inline std::size_t left_bpf_programs(const std::set<std::uint32_t>& ids) {
  std::size_t left = 0;
  for (int i = 0; i < 500; ++i) {
    left = 0;
    for (const auto id : ids) {
      const kernel::Fd fd{::bpf_prog_get_fd_by_id(id)};
      if (fd) ++left;
    }
    if (left == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  return left;
}

inline std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// What `ask` answers in a process without rights; -1 if it could not be asked.
inline int as_nobody(const std::function<int()>& ask) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    constexpr uid_t kNobody = 65'534;
    if (::setresgid(kNobody, kNobody, kNobody) != 0) ::_exit(255);
    if (::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(255);
    ::_exit(ask());
  }
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status) == 255 ? -1 : WEXITSTATUS(status);
}

}  // namespace koordlet::test
