#include "reactor/task_group.hpp"

#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

namespace koordlet::reactor {
namespace {

bool is_cancellation(const std::exception_ptr& e) {
  try {
    std::rethrow_exception(e);
  } catch (const boost::system::system_error& failure) {
    return failure.code() == asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

}  // namespace

/// Shared between the group and the completion handler: the signal must outlive the coroutine even
/// when the group does not.
struct TaskGroup::Task {
  TaskGroup* group = nullptr;  ///< null when the group is gone
  std::string name;
  asio::cancellation_signal cancel;
  std::list<std::shared_ptr<Task>>::iterator self;
  bool started = false;
  bool stopped = false;
};

TaskGroup::TaskGroup(asio::any_io_executor ex, OnExit on_exit)
    : ex_{std::move(ex)},
      all_done_{ex_, asio::steady_timer::time_point::max()},
      on_exit_{std::move(on_exit)} {}

TaskGroup::~TaskGroup() {
  for (const auto& task : tasks_) task->group = nullptr;
}

asio::awaitable<void> TaskGroup::run(std::shared_ptr<Task> task, asio::awaitable<void> body) {
  task->started = true;
  std::exception_ptr failure;
  if (!task->stopped) {
    try {
      co_await std::move(body);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  // co_spawn awaits once more after this frame; in a cancelled state that await would throw out of
  // io_context::run().
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  if (failure) std::rethrow_exception(failure);
}

void TaskGroup::spawn(std::string name, asio::awaitable<void> body) {
  auto task = std::make_shared<Task>();
  task->group = this;
  task->name = std::move(name);
  task->self = tasks_.insert(tasks_.end(), task);
  asio::co_spawn(
      ex_,
      run(task, std::move(body)),
      asio::bind_cancellation_slot(task->cancel.slot(), [task](const std::exception_ptr& failure) {
        if (task->group != nullptr) task->group->finished(task, failure);
      }));
}

void TaskGroup::finished(const std::shared_ptr<Task>& task, const std::exception_ptr& failure) {
  task->group = nullptr;
  tasks_.erase(task->self);
  if (tasks_.empty()) all_done_.cancel();
  if (on_exit_) on_exit_(task->name, failure && is_cancellation(failure) ? nullptr : failure);
}

void TaskGroup::request_stop() {
  // A copy, because a cancelled operation may complete in place and take its task off the list.
  const std::vector<std::shared_ptr<Task>> snapshot(tasks_.rbegin(), tasks_.rend());
  for (const auto& task : snapshot) {
    if (task->group == nullptr) continue;
    task->stopped = true;
    if (task->started) task->cancel.emit(asio::cancellation_type::terminal);
  }
}

asio::awaitable<bool> TaskGroup::join(std::chrono::milliseconds grace) {
  const auto deadline = asio::steady_timer::clock_type::now() + grace;
  while (!tasks_.empty() && asio::steady_timer::clock_type::now() < deadline) {
    const auto state = co_await asio::this_coro::cancellation_state;
    if (is_stopped(state)) break;
    all_done_.expires_at(deadline);
    co_await all_done_.async_wait(use_ec);
  }
  co_return tasks_.empty();
}

std::vector<std::string> TaskGroup::live_names() const {
  std::vector<std::string> names;
  names.reserve(tasks_.size());
  for (const auto& task : tasks_) names.push_back(task->name);
  return names;
}

}  // namespace koordlet::reactor
