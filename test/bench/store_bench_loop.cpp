#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include "modules/metric_cache/metric_cache.hpp"
#include "report.hpp"
#include "store_bench.hpp"
#include "support/manual_clock.hpp"

namespace koordlet::bench {
namespace {

namespace asio = boost::asio;
using std::chrono::seconds;

// A child that writes and syncs files of 4 MiB in a folder until the object goes.
class BusyDisk {
 public:
  explicit BusyDisk(const std::string& folder) : child_{::fork()} {
    if (child_ != 0) return;
    const std::string block(4 << 20, 'x');
    const auto file = folder + "/busy";
    for (const auto parent = ::getppid(); ::getppid() == parent;) {
      const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
      if (fd < 0 || ::write(fd, block.data(), block.size()) < 0 || ::fsync(fd) != 0) ::_exit(1);
      ::close(fd);
    }
    ::_exit(0);
  }
  ~BusyDisk() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  BusyDisk(const BusyDisk&) = delete;
  BusyDisk& operator=(const BusyDisk&) = delete;

 private:
  pid_t child_;
};

// Pages of a file stay in the cache as long as a process maps them: out of the map first. What is
// not yet written stays too.
void drop_page_cache(const std::string& file) {
  std::ifstream maps{"/proc/self/maps"};
  for (std::string line; std::getline(maps, line);) {
    unsigned long from = 0, to = 0;
    if (!line.ends_with(file) || std::sscanf(line.c_str(), "%lx-%lx", &from, &to) != 2) continue;
    ::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
  }
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
}

// One loop and its cache; each handler that the loop runs is timed.
struct Loop {
  explicit Loop(const std::string& folder) : cache{config_of(folder), storage, clock} {}
  static MetricCache::Config config_of(const std::string& folder) {
    MetricCache::Config c;
    c.folder = folder + "/metrics";
    c.map_size = 1ull << 30;
    return c;
  }

  // Waits in poll(2), so that a handler is timed without the wait for it.
  template <class T>
  void run(asio::awaitable<Result<T>> question) {
    bool done = false;
    asio::co_spawn(io, std::move(question), [&done](const std::exception_ptr& e, Result<T> r) {
      if (e) std::rethrow_exception(e);
      check(r);
      done = true;
    });
    while (!done) {
      io.restart();
      const auto start = BenchClock::now();
      const auto cpu = thread_cpu();
      const auto preempted = thread_preemptions();
      const auto ran = io.poll_one();
      if (ran > 0) handlers.add(since(start), thread_cpu() - cpu, thread_preemptions() > preempted);
      if (ran == 0) ::poll(nullptr, 0, 1);  // ms
    }
  }

  test::ManualClock clock;
  asio::io_context io;
  reactor::Worker storage{"storage"};
  MetricCache cache;
  Holds handlers, appends;
};

}  // namespace

// Two and a half hours in ticks of five seconds, as fast as the storage thread follows: a dozen
// seals and two hours rolled up. Each answer stands behind the batch before it.
void loop_figures() {
  constexpr int kSeries = 5000, kTicks = 1800, kColdEvery = 20, kExpireEvery = 360;
  TempStore place{1 << 20, kDay};  // for its folder
  place.close();
  std::filesystem::remove_all(place.folder() + "/metrics");
  const BusyDisk busy{place.folder()};  // before there is a thread
  Loop loop{place.folder()};
  loop.run(loop.cache.open());
  std::mt19937 random{6};
  auto batch = batch_of(kSeries, kStart, random);
  const auto file = place.folder() + "/metrics/data.mdb";
  for (int tick = 0; tick < kTicks; ++tick) {
    loop.clock.advance(seconds{5});
    drift(batch, random);
    auto samples = batch.samples;
    const auto now = loop.clock.now();
    loop.appends.time([&] {
      loop.cache.append(now, std::move(samples));
      return true;
    });
    if (tick % kColdEvery == 0) drop_page_cache(file);
    const auto to = loop.cache.stored_time(now);
    loop.run(loop.cache.summarize(series(tick % kSeries), to - seconds{7200}, to, {0.95}));
    if (tick % kExpireEvery == 0) loop.run(loop.cache.collect_garbage());
  }
  const auto stats = loop.cache.stats();
  if (stats.errors > 0 || stats.dropped_batches > 0) give_up("loop: " + stats.last_error);
  if (!stats.totals || stats.totals->seals < 6) give_up("loop: expected the seals of an hour");
  loop.handlers.print_as("tsdb_longest_hold");
  loop.appends.print_as("tsdb_longest_hold_append");
  print("tsdb_longest_step_busy_disk", stats.longest_step.count() / 1e3, "ms", 0);
  print("tsdb_steps_busy_disk", static_cast<double>(stats.maintain_steps), "steps", 0);
}

}  // namespace koordlet::bench
