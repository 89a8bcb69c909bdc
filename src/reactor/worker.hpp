#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/clock.hpp"

namespace koordlet::reactor {

/// One helper thread with a queue: the storage thread (LMDB) and the reclaim thread (writes that
/// block in the kernel). Jobs run in order. Results come back to the coroutine's own executor.
class Worker {
 public:
  explicit Worker(std::string name);  ///< thread name, at most 15 bytes
  ~Worker();                          ///< runs what is queued, then joins
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Fire and forget.
  void post(std::function<void()> job);
  /// co_await worker.run([&] { return f(); }): f runs on the helper, its result (or exception) is
  /// returned here. After a cancel the await ends with operation_aborted while f still runs to its
  /// end: f must own what it touches.
  template <class F>
  boost::asio::awaitable<std::invoke_result_t<F&>> run(F f);

  std::size_t queued() const;
  /// Age of the job that runs now; zero when idle. For "helper thread stuck" in status.
  std::chrono::milliseconds busy_for(MonoTime now) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet::reactor

#include "reactor/worker_impl.hpp"
