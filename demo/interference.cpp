#include "interference.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "koordlet_process.hpp"
#include "load.hpp"
#include "show.hpp"
#include "tree.hpp"

namespace koordlet::demo {
namespace {

using std::chrono::seconds;

// The pods of demo/manifests.
const DemoTree::Pod kWeb{
    KubeQos::kBurstable, "11111111-aaaa-4aaa-8aaa-000000000001", std::string(64, '1')};
const DemoTree::Pod kBatch{
    KubeQos::kBestEffort, "22222222-bbbb-4bbb-8bbb-000000000002", std::string(64, '2')};
const DemoTree::Pod kScan{
    KubeQos::kBestEffort, "33333333-cccc-4ccc-8ccc-000000000003", std::string(64, '3')};

constexpr int kWindows = 4;  // of a phase, after the one in which it began
// A loop that works 7 of each 10 ms: alone it hardly ever waits, and it leaves best effort little
// under the node's threshold. A faster loop would measure the machine's own wake-up time.
constexpr int kLsPermille = 700;
constexpr std::chrono::milliseconds kLsPeriod{10};

/// One window as the API shows it.
struct Seen {
  double degree = 0, be_degree = 0;
  std::optional<double> p95_ms, wait_percent;
};

/// The load of the phases; ends with them.
class Load {
 public:
  Load(const DemoTree& tree, const Options& options)
      : tree_{tree}, options_{options}, control_{make_load_control()} {
    const bool is_given = options.ls_high_permille != Options{}.ls_high_permille;
    control_.ls_duty_permille = is_given ? options.ls_high_permille : kLsPermille;
    pids_.push_back(
        start_ls(control_, tree.procs_files(kWeb), options.ls_threads, period_of(options)));
  }
  ~Load() {
    control_.stop = true;
    for (const auto pid : pids_) stop_process(pid);
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  void start_best_effort() {
    control_.be_duty_permille = 1000;
    for (const auto& pod : {kBatch, kScan})
      pids_.push_back(start_be(control_, tree_.procs_files(pod), options_.be_threads));
  }

 private:
  static std::chrono::microseconds period_of(const Options& options) {
    if (options.period_us != Options{}.period_us)
      return std::chrono::microseconds{options.period_us};
    return kLsPeriod;
  }
  const DemoTree& tree_;
  const Options& options_;
  LoadControl& control_;
  std::vector<pid_t> pids_;
};

std::optional<Seen> look(const DaemonProcess& daemon) {
  const auto pod = daemon.get("/api/v1/explain/" + kWeb.uid);
  if (!pod) return std::nullopt;
  const auto degree = number_at(*pod, {"interference", "degree"});
  if (!degree) return std::nullopt;
  Seen out;
  out.degree = *degree;
  out.be_degree = number_at(*pod, {"interference", "be_degree"}).value_or(0);
  if (const auto us = number_at(*pod, {"interference", "evidence", "wait_p95_us"}))
    out.p95_ms = *us / 1000;
  if (const auto ratio = number_at(*pod, {"interference", "evidence", "wait_ratio"}))
    out.wait_percent = *ratio * 100;
  return out;
}

/// Median degree of the windows of a phase; the first one holds the change and is left out.
std::optional<Seen> phase(const std::string& name, const DaemonProcess& daemon, int window_s) {
  std::this_thread::sleep_for(seconds{window_s + 1});
  std::vector<Seen> all;
  for (int i = 0; i < kWindows; ++i) {
    std::this_thread::sleep_for(seconds{window_s});
    const auto seen = look(daemon);
    if (!seen) continue;
    fmt::print(
        "{:<12} degree {:>3}, {:>3} by best effort; run-queue p95 {:.3f} ms, wait {:.1f} % of "
        "run time\n",
        name,
        seen->degree,
        seen->be_degree,
        seen->p95_ms.value_or(0),
        seen->wait_percent.value_or(0));
    std::fflush(stdout);
    all.push_back(*seen);
  }
  if (all.empty()) return std::nullopt;
  std::sort(
      all.begin(), all.end(), [](const Seen& a, const Seen& b) { return a.degree < b.degree; });
  return all[all.size() / 2];
}

void print_culprits(const DaemonProcess& daemon) {
  const auto pod = daemon.get("/api/v1/explain/" + kWeb.uid);
  if (!pod || !pod->is_object()) return;
  const auto* i = pod->get_object().if_contains("interference");
  const auto* list =
      i != nullptr && i->is_object() ? i->get_object().if_contains("culprits") : nullptr;
  if (list == nullptr || !list->is_array()) return;
  for (const auto& c : list->get_array()) {
    fmt::print("to blame     {} with score {:.2f}\n",
               text_at(c, {"pod"}).value_or("?"),
               number_at(c, {"score"}).value_or(0));
  }
}

Result<std::unique_ptr<KoordletProcess>> start(Options options, bool dry_run, int cpus) {
  options.dry_run = dry_run;
  auto process = KoordletProcess::make(options, cpus * 1000);
  if (!process) return process;
  const auto started = (*process)->daemon().start();
  if (!started) return started.error();
  return process;
}

struct Phases {
  std::optional<Seen> alone, beside, capped;
};

Result<Phases> run_phases(const Options& options, Load& load, int cpus) {
  Phases out;
  {
    const auto watcher = start(options, true, cpus);
    if (!watcher) return watcher.error();
    const auto& daemon = (*watcher)->daemon();
    out.alone = phase("alone", daemon, options.window_s);
    load.start_best_effort();
    out.beside = phase("beside BE", daemon, options.window_s);
    print_culprits(daemon);
  }
  const auto koordlet = start(options, false, cpus);
  if (!koordlet) return koordlet.error();
  out.capped = phase("BE capped", (*koordlet)->daemon(), options.window_s);
  return out;
}

int judge(const Phases& p) {
  if (!p.alone || !p.beside || !p.capped) {
    fmt::print("a phase gave no degree\n");
    return 1;
  }
  const bool ok = p.alone->degree < 10 && p.beside->degree > 50 && p.capped->degree < 20;
  fmt::print(
      R"({{"name": "interference_degree", "alone": {}, "beside_be": {}, "be_capped": {}, )"
      R"("p95_ms_alone": {:.3f}, "p95_ms_beside_be": {:.3f}, "p95_ms_be_capped": {:.3f}, "ok": {}}})"
      "\n",
      p.alone->degree,
      p.beside->degree,
      p.capped->degree,
      p.alone->p95_ms.value_or(0),
      p.beside->p95_ms.value_or(0),
      p.capped->p95_ms.value_or(0),
      ok);
  return ok ? 0 : 1;
}

}  // namespace

int run_interference(Options options) {
  const int cpus = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  if (options.ls_threads == 0) options.ls_threads = cpus;
  if (options.be_threads == 0) options.be_threads = cpus;
  const kernel::HostRoots roots;
  const auto version = kernel::detect_cgroup_version(roots);
  if (!version) {
    fmt::print("{}\n", version.error().context);
    return 1;
  }
  auto tree = DemoTree::make(
      roots, *version, CgroupDriver::kCgroupfs, {kWeb, kBatch, kScan}, options.be_shares);
  if (!tree) {
    fmt::print("{}\n", tree.error().context);
    return 1;
  }
  Load load{*tree, options};
  const auto phases = run_phases(options, load, cpus);
  if (!phases) {
    fmt::print("{}\n", phases.error().context);
    return 1;
  }
  return judge(*phases);
}

}  // namespace koordlet::demo
