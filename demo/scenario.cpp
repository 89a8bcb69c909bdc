#include "scenario.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <signal.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

namespace koordlet::demo {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kHighPercent =
    80;  // the default of qos.pressure.high_percent, which the demo leaves as it is
constexpr auto kPoll = milliseconds{5};

// The pods of demo/manifests.
const DemoTree::Pod kWeb{
    KubeQos::kBurstable, "11111111-aaaa-4aaa-8aaa-000000000001", std::string(64, '1')};
const DemoTree::Pod kBatch{
    KubeQos::kBestEffort, "22222222-bbbb-4bbb-8bbb-000000000002", std::string(64, '2')};
const DemoTree::Pod kScan{
    KubeQos::kBestEffort, "33333333-cccc-4ccc-8ccc-000000000003", std::string(64, '3')};

std::atomic<bool> interrupted{false};
void on_interrupt(int) { interrupted = true; }

double seconds_between(std::chrono::steady_clock::time_point a,
                       std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

std::optional<double> milli(const std::optional<double>& v) {
  if (!v) return std::nullopt;
  return *v / 1000;
}

}  // namespace

Scenario::Scenario(Options options) : options_{std::move(options)}, control_{make_load_control()} {}

Scenario::~Scenario() {
  koordlet_.reset();
  control_.stop = true;
  for (const auto pid : loads_) stop_process(pid);
  tree_.reset();
}

Result<void> Scenario::set_up() {
  colour_ = isatty(1) != 0;
  cpus_ = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  node_cpu_milli_ = options_.node_cpu_milli > 0 ? options_.node_cpu_milli : cpus_ * 1000;
  if (options_.ls_threads == 0) options_.ls_threads = cpus_;
  if (options_.be_threads == 0) options_.be_threads = cpus_;
  const auto version = kernel::detect_cgroup_version(roots_);
  if (!version) return version.error();
  version_ = *version;
  auto tree =
      DemoTree::make(roots_,
                     version_,
                     options_.systemd_names ? CgroupDriver::kSystemd : CgroupDriver::kCgroupfs,
                     {kWeb, kBatch, kScan},
                     options_.be_shares);
  if (!tree) return tree.error();
  tree_.emplace(std::move(*tree));
  cgroups_.emplace(roots_, version_);
  loads_.push_back(start_ls(control_,
                            tree_->procs_files(kWeb),
                            options_.ls_threads,
                            std::chrono::microseconds{options_.period_us}));
  for (const auto& pod : {kBatch, kScan}) {
    loads_.push_back(start_be(control_, tree_->procs_files(pod), options_.be_threads));
  }
  std::this_thread::sleep_for(milliseconds{200});
  for (const auto pid : loads_) {
    if (pid <= 0 || waitpid(pid, nullptr, WNOHANG) != 0)
      return Error{Errc::kIo, "a load process did not start"};
  }
  auto process = KoordletProcess::make(options_, node_cpu_milli_);
  if (!process) return process.error();
  koordlet_ = std::move(*process);
  return {};
}

std::optional<double> Scenario::be_cap_cores() {
  const auto value =
      cgroups_->read({tree_->layout().tier(KubeQos::kBestEffort), CgroupFile::kCpuMax});
  if (!value) return std::nullopt;
  const auto& cap = std::get<CpuMax>(*value);
  if (!cap.quota.bound()) return std::nullopt;
  return static_cast<double>(cap.quota.bound()->count()) / static_cast<double>(cap.period.count());
}

std::optional<double> Scenario::formula_cores() const {
  const auto status = koordlet_->daemon().get("/api/v1/status");
  if (!status) return std::nullopt;
  const auto ls = number_at(*status, {"qos", "cap_ls_used_milli"});
  const auto system = number_at(*status, {"qos", "cap_system_used_milli"});
  if (!ls || !system) return std::nullopt;
  return (node_cpu_milli_ * kHighPercent / 100 - *ls - *system) / 1000;
}

void Scenario::tick(const std::string& phase, const std::string& note) {
  if (koordlet_started_ && !koordlet_->daemon().running() && !interrupted) {
    fmt::print("koordlet ended by itself; its last words:\n{}", koordlet_->daemon().log());
    interrupted = true;
    return;
  }
  Row row;
  row.seconds = seconds_between(start_, std::chrono::steady_clock::now());
  row.phase = phase;
  row.note = note;
  if (const auto status = koordlet_->daemon().get("/api/v1/status")) {
    row.node_percent = number_at(*status, {"qos", "node_use_percent"});
    row.level = text_at(*status, {"qos", "level"}).value_or("");
    row.be_used = milli(number_at(*status, {"cpu_milli", "be_used"}));
    row.ls_used = milli(number_at(*status, {"cpu_milli", "ls_used"}));
    row.system_used = milli(number_at(*status, {"cpu_milli", "system_used"}));
  }
  row.be_cap = be_cap_cores();
  const auto counts = control_.wakeup.read();
  row.p50_us = Latency::quantile_us(counts, last_counts_, 0.50);
  row.p99_us = Latency::quantile_us(counts, last_counts_, 0.99);
  last_counts_ = counts;
  print_row(row, colour_);
}

void Scenario::phase(const std::string& name, int seconds_long) {
  const auto before = control_.wakeup.read();
  for (int i = 0; i < seconds_long && !interrupted; ++i) {
    std::this_thread::sleep_for(seconds{1});
    tick(name, "");
  }
  if (const auto p99 = Latency::quantile_us(control_.wakeup.read(), before, 0.99))
    p99_by_phase_[name] = *p99;
}

/// Raises the LS load, times the cut in the kernel file, and reads cap and formula once it has
/// settled.
void Scenario::step_up(Time until) {
  Step step;
  const auto cap_before = be_cap_cores();
  const auto at = std::chrono::steady_clock::now();
  step.at_s = seconds_between(start_, at);
  control_.ls_duty_permille = options_.ls_high_permille;
  const auto before = control_.wakeup.read();
  const double cut = 0.05 * node_cpu_milli_ / 1000;
  auto next_tick = at + seconds{1};
  while (!interrupted) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= until) break;
    if (!step.reaction_ms) {
      const auto cap = be_cap_cores();
      if (cap && (!cap_before || *cap <= *cap_before - cut))
        step.reaction_ms = seconds_between(at, now) * 1000;
    }
    if (now >= next_tick) {
      next_tick += seconds{1};
      tick("LS high", step.reaction_ms ? "" : "waiting for the cut");
      step.cap_cores = be_cap_cores();
      step.formula_cores = formula_cores();
    }
    std::this_thread::sleep_for(step.reaction_ms ? milliseconds{50} : kPoll);
  }
  const auto p99 = Latency::quantile_us(control_.wakeup.read(), before, 0.99);
  if (p99) p99_by_phase_["LS high, with koordlet"] = *p99;
  step.at_floor = cap_before && *cap_before < 2 * cut;
  steps_.push_back(step);
}

void Scenario::with_koordlet() {
  const auto begin = std::chrono::steady_clock::now();
  const auto end = options_.duration_s > 0 ? begin + seconds{options_.duration_s} : Time::max();
  while (!interrupted && std::chrono::steady_clock::now() < end) {
    control_.ls_duty_permille = options_.ls_low_permille;
    auto cap = be_cap_cores();
    for (int i = 0; i < options_.step_s && !interrupted && std::chrono::steady_clock::now() < end;
         ++i) {
      std::this_thread::sleep_for(seconds{1});
      const auto now_cap = be_cap_cores();
      const bool rose = cap && now_cap && *now_cap > *cap;
      if (rose && !steps_.empty()) ++relax_writes_;
      tick("LS low", rose ? "cap relaxed a step" : "");
      cap = now_cap;
    }
    if (interrupted || std::chrono::steady_clock::now() + seconds{3} >= end) break;
    step_up(std::min(end, std::chrono::steady_clock::now() + seconds{options_.step_s}));
  }
}

bool Scenario::check_restored(const std::map<std::string, std::string>& before) {
  const auto after = tree_->contents();
  bool same = true;
  for (const auto& [file, text] : before) {
    const auto now = after.find(file);
    if (now != after.end() && now->second == text) continue;
    same = false;
    fmt::print("NOT RESTORED {}: before {} after {}\n",
               file,
               text,
               now == after.end() ? "(gone)" : now->second);
  }
  return same;
}

int Scenario::summary(bool restored, std::optional<int> exit_code) {
  fmt::print("\nLS wake-up latency, p99, at {} % LS duty on each of {} threads:\n",
             options_.ls_high_permille / 10,
             options_.ls_threads);
  for (const auto* name : {"LS alone", "LS + BE, no koordlet", "LS high, with koordlet"}) {
    const auto it = p99_by_phase_.find(name);
    if (it != p99_by_phase_.end()) fmt::print("  {:<24} {:>8} us\n", name, it->second);
  }
  bool ok = restored && exit_code == 0;
  fmt::print("steps of the LS load {} % -> {} %:\n",
             options_.ls_low_permille / 10,
             options_.ls_high_permille / 10);
  for (const auto& s : steps_) {
    fmt::print(
        "  at {:>4.0f} s: cut after {:>6} ms; cap in the kernel file {:>6} cores; {} x {} % - LS - "
        "system = {:>6} cores\n",
        s.at_s,
        s.reaction_ms ? fmt::format("{:.0f}", *s.reaction_ms) : "never",
        s.cap_cores ? fmt::format("{:.3f}", *s.cap_cores) : "max",
        node_cpu_milli_ / 1000.0,
        kHighPercent,
        s.formula_cores ? fmt::format("{:.3f}", *s.formula_cores) : "-");
    if (s.at_floor)
      fmt::print(
          "    BE was near its floor before the step: something else keeps this machine busy\n");
    if (!options_.dry_run && !s.at_floor && (!s.reaction_ms || *s.reaction_ms > 2000)) ok = false;
  }
  fmt::print("relaxing steps seen: {}\n", relax_writes_);
  fmt::print("koordlet ended with exit code {}\n",
             exit_code ? fmt::format("{}", *exit_code) : "none (killed)");
  fmt::print("every cgroup file reads as before: {}\n", restored ? "yes" : "NO");
  return ok ? 0 : 1;
}

int Scenario::run() {
  signal(SIGINT, on_interrupt);
  signal(SIGTERM, on_interrupt);
  signal(SIGPIPE, SIG_IGN);  // a reader that goes away must not leave the tree behind
  if (const auto ready = set_up(); !ready) {
    std::fprintf(stderr, "koordlet-demo: %s\n", ready.error().context.c_str());
    if (ready.error().code == Errc::kDenied || ready.error().code == Errc::kNotSupported) {
      std::fprintf(stderr,
                   "koordlet-demo: this machine's cgroup tree cannot be used; on a node of your "
                   "own try koordlet run "
                   "with executor.dry_run = true, which writes nothing\n");
    }
    return 1;
  }
  fmt::print(
      "node {} milli-cores, cgroup {}, {} LS threads ({} % / {} % of each), 2 BE pods with {} "
      "threads each\n",
      node_cpu_milli_,
      to_string(version_),
      options_.ls_threads,
      options_.ls_low_permille / 10,
      options_.ls_high_permille / 10,
      options_.be_threads);
  start_ = std::chrono::steady_clock::now();
  last_counts_ = control_.wakeup.read();
  print_header(colour_);
  control_.ls_duty_permille = options_.ls_high_permille;
  if (options_.warmup_s > 0) {
    phase("LS alone", options_.warmup_s);
    control_.be_duty_permille = options_.be_permille;
    phase("LS + BE, no koordlet", options_.warmup_s);
  }
  control_.be_duty_permille = options_.be_permille;
  control_.ls_duty_permille = options_.ls_low_permille;
  const auto before = tree_->contents();
  if (const auto started = koordlet_->daemon().start(); !started) {
    std::fprintf(stderr, "koordlet-demo: %s\n", started.error().context.c_str());
    return 1;
  }
  fmt::print("koordlet runs: curl --unix-socket {} http://localhost/api/v1/status\n",
             koordlet_->socket());
  if (const auto status = koordlet_->daemon().get("/api/v1/status")) {
    if (const auto address = text_at(*status, {"listen"}); address)
      fmt::print("status API: http://{}/\n", *address);
  }
  koordlet_started_ = true;
  with_koordlet();
  const auto exit_code = koordlet_->daemon().end(SIGTERM, seconds{10});
  const bool restored = check_restored(before);
  if (options_.keep_log) fmt::print("--- koordlet's log\n{}", koordlet_->daemon().log());
  return summary(restored, exit_code);
}

}  // namespace koordlet::demo
