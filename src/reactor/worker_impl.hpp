#pragma once

#include <exception>
#include <optional>

// Template half of worker.hpp: only the typed result; the thread and the hand-over are in
// worker.cpp.

namespace koordlet::reactor {

/// One call and its outcome. Owned by the coroutine and by the queue together, so that a cancelled
/// coroutine may go while the call runs.
class Worker::Job {
 public:
  virtual ~Job() = default;
  void call() noexcept {
    try {
      invoke();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

 protected:
  virtual void invoke() = 0;
  std::exception_ptr failure_;
};

template <class F>
class Worker::TypedJob final : public Worker::Job {
 public:
  using Value = std::invoke_result_t<F&>;
  static_assert(!std::is_reference_v<Value>, "a job returns a value");

  explicit TypedJob(F f) : f_{std::move(f)} {}
  Value take() {
    if (failure_) std::rethrow_exception(failure_);
    if constexpr (!std::is_void_v<Value>) return std::move(*value_);
  }

 private:
  struct Nothing {};
  void invoke() override {
    if constexpr (std::is_void_v<Value>) {
      f_();
    } else {
      value_.emplace(f_());
    }
  }
  F f_;
  std::optional<std::conditional_t<std::is_void_v<Value>, Nothing, Value>> value_;
};

template <class F>
boost::asio::awaitable<std::invoke_result_t<F&>> Worker::run(F f) {
  auto job = std::make_shared<TypedJob<F>>(std::move(f));
  std::shared_ptr<Job> erased = job;
  co_await execute(std::move(erased));
  co_return job->take();
}

}  // namespace koordlet::reactor
