#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/clock.hpp"

namespace koordlet::reactor {

/// One helper thread with a queue: the storage thread (LMDB) and the reclaim thread (writes that
/// block in the kernel). Jobs run in order. Results come back to the coroutine's own executor. The
/// thread takes no signals. The io_context of every caller must outlive the worker: it posts
/// results there until its destructor has returned.
class Worker {
 public:
  explicit Worker(std::string name);  ///< thread name, at most 15 bytes (the rest is cut)
  ~Worker();                          ///< runs what is queued, then joins
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Fire and forget. A job that throws is counted in failures(), and the next one runs.
  void post(std::function<void()> job);
  /// co_await worker.run([&] { return f(); }): f runs on the helper, its result (or exception) is
  /// returned here. After a cancel the await throws operation_aborted while f still runs to its
  /// end: f must own what it touches. f itself is destroyed on the loop thread.
  template <class F>
  boost::asio::awaitable<std::invoke_result_t<F&>> run(F f);

  std::size_t queued() const;      ///< waiting jobs, without the one that runs
  std::uint64_t failures() const;  ///< posted jobs that threw
  /// Age of the job that runs now; zero when idle. For "helper thread stuck" in status.
  std::chrono::milliseconds busy_for(MonoTime now) const;

 private:
  class Job;
  template <class F>
  class TypedJob;
  struct Impl;
  /// Ends when the job has run; throws operation_aborted when the caller is cancelled before.
  boost::asio::awaitable<void> execute(std::shared_ptr<Job> job);

  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet::reactor

#include "reactor/worker_impl.hpp"
