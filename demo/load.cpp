#include "load.hpp"

#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <functional>
#include <new>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace koordlet::demo {
namespace {

constexpr std::int64_t kNs = 1'000'000'000;

std::int64_t clock_ns(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return t.tv_sec * kNs + t.tv_nsec;
}

void sleep_until(std::int64_t ns) {
  const timespec t{.tv_sec = ns / kNs, .tv_nsec = ns % kNs};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
}

/// Work is CPU time of the thread, so that being preempted does not count as having worked.
void work_for(std::int64_t ns) {
  const auto end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

void ls_thread(LoadControl& control, std::int64_t period_ns, int cpu) {
  pin(cpu);
  auto deadline = clock_ns(CLOCK_MONOTONIC) + period_ns;
  while (!control.stop.load(std::memory_order_relaxed)) {
    sleep_until(deadline);
    const auto now = clock_ns(CLOCK_MONOTONIC);
    control.wakeup.record((now - deadline) / 1000);
    work_for(period_ns * control.ls_duty_permille.load(std::memory_order_relaxed) / 1000);
    deadline += period_ns;
    const auto after = clock_ns(CLOCK_MONOTONIC);
    if (deadline <= after)
      deadline = after + period_ns;  // late: the next wake-up is measured from now
  }
}

void be_thread(LoadControl& control) {
  constexpr std::int64_t kStep = 10'000'000;
  while (!control.stop.load(std::memory_order_relaxed)) {
    const auto duty = control.be_duty_permille.load(std::memory_order_relaxed);
    const auto start = clock_ns(CLOCK_MONOTONIC);
    work_for(kStep * duty / 1000);
    if (duty < 1000) sleep_until(start + kStep);
  }
}

pid_t start(const std::vector<std::string>& procs_files,
            int threads,
            const std::function<void(int)>& body) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGINT, SIG_IGN);
  for (const auto& file : procs_files) {
    const int fd = open(file.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0", 1) != 1) {
      std::perror(file.c_str());
      _exit(1);
    }
    close(fd);
  }
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back([&body, i] { body(i); });
  for (auto& t : all) t.join();
  _exit(0);
}

}  // namespace

LoadControl& make_load_control() {
  void* memory =
      mmap(nullptr, sizeof(LoadControl), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc{};
  return *new (memory) LoadControl{};
}

pid_t start_ls(LoadControl& control,
               const std::vector<std::string>& procs_files,
               int threads,
               std::chrono::microseconds period) {
  return start(
      procs_files, threads, [&](int cpu) { ls_thread(control, period.count() * 1000, cpu); });
}

pid_t start_be(LoadControl& control, const std::vector<std::string>& procs_files, int threads) {
  return start(procs_files, threads, [&](int) { be_thread(control); });
}

void stop_process(pid_t pid) {
  if (pid <= 0) return;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

}  // namespace koordlet::demo
