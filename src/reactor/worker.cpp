#include "reactor/worker.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <pthread.h>
#include <signal.h>
#include <thread>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

namespace koordlet::reactor {
namespace asio = boost::asio;

struct Worker::Impl {
  mutable std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> queue;
  bool stopping = false;
  std::atomic<std::int64_t> busy_since_ns{0};  ///< 0: idle
  std::atomic<std::uint64_t> failures{0};
  std::thread thread;

  void push(std::function<void()> job) {
    {
      const std::lock_guard lock{mutex};
      queue.push_back(std::move(job));
    }
    wake.notify_one();
  }
  void loop();
};

void Worker::Impl::loop() {
  for (;;) {
    std::function<void()> job;
    {
      std::unique_lock lock{mutex};
      wake.wait(lock, [this] { return stopping || !queue.empty(); });
      if (queue.empty()) return;
      job = std::move(queue.front());
      queue.pop_front();
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      busy_since_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    }
    try {
      job();
    } catch (...) {
      ++failures;
    }
    job = nullptr;  // what the job owns belongs to its time
    busy_since_ns = 0;
  }
}

Worker::Worker(std::string name) : impl_{std::make_unique<Impl>()} {
  name.resize(std::min<std::size_t>(name.size(), 15));
  // Signals are for the loop thread; a new thread inherits the mask.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    impl_->thread = std::thread{[impl = impl_.get()] { impl->loop(); }};
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(impl_->thread.native_handle(), name.c_str());
}

Worker::~Worker() {
  {
    const std::lock_guard lock{impl_->mutex};
    impl_->stopping = true;
  }
  impl_->wake.notify_one();
  impl_->thread.join();
}

void Worker::post(std::function<void()> job) { impl_->push(std::move(job)); }

asio::awaitable<void> Worker::execute(std::shared_ptr<Job> job) {
  struct Handover {
    explicit Handover(const asio::any_io_executor& ex)
        : done{ex, asio::steady_timer::time_point::max()} {}
    asio::steady_timer done;
    bool finished = false;  // loop thread only
  };
  const asio::any_io_executor ex = co_await asio::this_coro::executor;
  auto handover = std::make_shared<Handover>(ex);
  // The helper moves its references into the posted handler: job and timer die on the loop thread.
  impl_->push([ex, job = std::move(job), handover]() mutable {
    job->call();
    asio::post(ex, [job = std::move(job), handover = std::move(handover)] {
      handover->finished = true;
      handover->done.expires_at(asio::steady_timer::time_point::min());
    });
  });
  constexpr auto kUseEc = asio::as_tuple(asio::use_awaitable);
  co_await handover->done.async_wait(kUseEc);
  if (!handover->finished)
    throw boost::system::system_error{asio::error::operation_aborted, "helper thread"};
}

std::size_t Worker::queued() const {
  const std::lock_guard lock{impl_->mutex};
  return impl_->queue.size();
}

std::uint64_t Worker::failures() const { return impl_->failures; }

std::chrono::milliseconds Worker::busy_for(MonoTime now) const {
  const std::int64_t since = impl_->busy_since_ns;
  if (since == 0) return std::chrono::milliseconds{0};
  const auto age = now.time_since_epoch() - std::chrono::nanoseconds{since};
  return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(age),
                  std::chrono::milliseconds{0});
}

}  // namespace koordlet::reactor
