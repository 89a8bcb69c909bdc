#include "support/kill_rounds.hpp"

#include <csignal>
#include <random>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "store/metric_store.hpp"

namespace koordlet::test {
namespace {

using store::LmdbEnv;
using store::MetricStore;
using store::StoredTime;

constexpr int kSeries = 20;
// Twenty seconds a batch: a seal each 30, an hour of roll-ups each 180.
StoredTime time_of(std::int64_t n) { return std::chrono::seconds{1'700'000'000 + 20 * n}; }
store::SeriesKey series(int i) { return {"k", fmt::format("pod{}", i)}; }

struct Open {
  Result<LmdbEnv> env;
  std::unique_ptr<MetricStore> store;
  std::string fault;

  explicit Open(const std::string& folder) : env{open_env(folder)} {
    if (!env) {
      fault = env.error().context;
      return;
    }
    constexpr std::chrono::hours kWeeks{24 * 365};
    auto opened = MetricStore::open(*env, {kWeeks, kWeeks});
    if (!opened) fault = opened.error().context;
    if (opened) store = std::move(*opened);
    if (!env->moved_aside().empty()) fault = "set aside as damaged: " + env->moved_aside();
  }
  static Result<LmdbEnv> open_env(const std::string& folder) {
    LmdbEnv::Options o;
    o.folder = folder;
    o.map_size = 256 << 20;
    return LmdbEnv::open(o);
  }
};

struct Report {
  std::int64_t batch = 0;  // -1: a step of sealing or rolling up begins
};

[[noreturn]] void write_for_ever(const std::string& folder, std::int64_t from, int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Open open{folder};
  if (!open.fault.empty()) ::_exit(1);
  for (std::int64_t n = from;; ++n) {
    store::MetricBatch batch{time_of(n), {}};
    for (int i = 0; i < kSeries; ++i) batch.samples.push_back({series(i), n});
    if (!open.store->append(batch)) ::_exit(2);
    Report say{n};
    if (::write(report, &say, sizeof say) != sizeof say) ::_exit(3);
    say.batch = -1;
    for (bool more = true; more;) {
      const auto r = open.store->maintain(batch.at);
      if (!r) ::_exit(4);
      more = *r;
      if (more && ::write(report, &say, sizeof say) != sizeof say) ::_exit(3);
    }
  }
}

// Returns the last batch that was acknowledged, or `from` - 1.
std::int64_t write_until_killed(const std::string& folder,
                                std::int64_t from,
                                unsigned delay_us,
                                KillRounds& out) {
  int report[2];
  if (::pipe(report) != 0) return from - 1;
  const pid_t child = ::fork();
  if (child == 0) write_for_ever(folder, from, report[1]);
  ::close(report[1]);
  Report said;
  std::int64_t last = from - 1;
  bool in_step = false;
  const auto take = [&] {
    if (::read(report[0], &said, sizeof said) != sizeof said) return false;
    in_step = said.batch < 0;
    if (!in_step) last = said.batch;
    return true;
  };
  if (take()) ::usleep(delay_us);  // the pipe holds what comes meanwhile, and halts a fast writer
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  while (take()) {
  }
  ::close(report[0]);
  if (!WIFSIGNALED(status))
    out.fault = fmt::format("the writer ended by itself, status {}", status);
  out.seals_cut += in_step ? 1 : 0;
  return last;
}

// Batches up to `last` that are not there. `next` becomes the number behind the newest.
std::uint64_t count_lost(MetricStore& store, std::int64_t last, std::int64_t& next) {
  std::uint64_t lost = 0;
  for (const int i : {0, kSeries - 1}) {
    const auto found = store.range(series(i), StoredTime{0}, StoredTime::max());
    if (!found) return static_cast<std::uint64_t>(last) + 1;
    std::int64_t expected = 0;
    for (const auto& s : *found) {
      lost += static_cast<std::uint64_t>(s.value - expected);
      if (s.at != time_of(s.value)) ++lost;
      expected = s.value + 1;
    }
    if (expected <= last) lost += static_cast<std::uint64_t>(last + 1 - expected);
    next = std::max(next, expected);
  }
  return lost;
}

}  // namespace

KillRounds run_kill_rounds(const std::string& folder, int rounds, unsigned seed) {
  KillRounds out;
  std::mt19937 random{seed};
  std::int64_t next = 0;
  for (int round = 0; round < rounds && out.fault.empty(); ++round) {
    const auto from = next;
    const auto last = write_until_killed(folder, from, random() % 30'000, out);
    if (!out.fault.empty()) break;
    ++out.killed;
    out.acknowledged += static_cast<std::uint64_t>(last + 1 - from);
    Open open{folder};
    out.fault = open.fault;
    if (out.fault.empty()) out.lost += count_lost(*open.store, last, next);
  }
  return out;
}

}  // namespace koordlet::test
