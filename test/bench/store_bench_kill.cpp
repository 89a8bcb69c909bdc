#include <algorithm>
#include <csignal>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

#include "report.hpp"
#include "store_bench.hpp"

namespace koordlet::bench {

using std::chrono::seconds;
using store::StoredTime;

// The child says each batch that was acknowledged; what is between the first and the last but one
// has to be there.
void kill_figures() {
  constexpr int kRounds = 200;
  TempStore s{1ull << 30, kDay};
  std::mt19937 random{4};
  std::size_t lost = 0, acknowledged = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto base = kStart + seconds{1000} * round;
    s.close();
    int ends[2];
    if (::pipe(ends) != 0) return;
    const auto child = ::fork();
    if (child == 0) {
      s.open();
      for (std::int32_t i = 0;; ++i) {
        const auto at = base + StoredTime{500 * i};
        if (!s.store().append({at, {{series(0), i}, {series(1), -i}}})) ::_exit(1);
        if (::write(ends[1], &i, sizeof i) != sizeof i) ::_exit(1);
        if (!s.store().maintain(at)) ::_exit(1);
      }
    }
    ::close(ends[1]);
    ::usleep(3000 + random() % 20'000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    std::int32_t seen = 0, count = 0;
    while (::read(ends[0], &seen, sizeof seen) == sizeof seen) ++count;
    ::close(ends[0]);
    s.open();
    const auto there = s.store().range(series(0), base, base + StoredTime{500} * count);
    check(there);
    const auto due = static_cast<std::size_t>(std::max(count - 1, 0));
    acknowledged += due;
    for (std::size_t i = 0; i < due; ++i) {
      if (i >= there->size() || (*there)[i].value != static_cast<std::int64_t>(i)) ++lost;
    }
  }
  print("tsdb_kill_rounds", static_cast<double>(lost), "lost batches", 0);
  print("tsdb_kill_acknowledged", static_cast<double>(acknowledged), "batches", 0);
}

}  // namespace koordlet::bench
