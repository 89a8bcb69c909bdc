#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace koordlet::reactor {

namespace asio = boost::asio;
/// Errors as values: auto [ec, n] = co_await op(use_ec).
inline constexpr auto use_ec = asio::as_tuple(asio::use_awaitable);

/// After a cancel any further co_await of a coroutine throws: look first. The state is a variable
/// of its own (const auto state = co_await asio::this_coro::cancellation_state;) wherever the
/// branch returns a value: g++ 12 makes broken code of is_stopped(co_await ...) there.
inline bool is_stopped(const asio::cancellation_state& state) {
  return state.cancelled() != asio::cancellation_type::none;
}

/// Coroutines with one owner: started by name, asked to stop, awaited. A finished task is erased at
/// once. One thread. join() before destruction: a group that dies with live tasks leaves them
/// unowned (they end unreported), and what they refer to must then outlive them.
class TaskGroup {
 public:
  /// Called when a task ends, after it has left the group; the pointer is set when it ended by an
  /// exception that is not a cancellation (boost::system::system_error of operation_aborted). May
  /// spawn and stop, must not throw.
  using OnExit = std::function<void(const std::string& name, const std::exception_ptr&)>;
  TaskGroup(asio::any_io_executor ex, OnExit on_exit);
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  /// On the loop thread the body runs at once up to its first wait.
  void spawn(std::string name, asio::awaitable<void> body);
  /// Terminal cancellation to every task, last started first. A task that has not begun yet ends
  /// without running. Tasks that are spawned later are not stopped by it.
  void request_stop();
  /// Waits until no task is left; false: the grace ran out, or the caller was cancelled before. A
  /// caller that cleans up after its own cancellation first awaits
  /// asio::this_coro::reset_cancellation_state(), else this throws operation_aborted. One joiner at
  /// a time.
  asio::awaitable<bool> join(std::chrono::milliseconds grace);
  std::size_t live() const { return tasks_.size(); }
  std::vector<std::string> live_names() const;  ///< in the order of start: names what is stuck

 private:
  struct Task;
  static asio::awaitable<void> run(std::shared_ptr<Task> task, asio::awaitable<void> body);
  void finished(const std::shared_ptr<Task>& task, const std::exception_ptr& failure);

  asio::any_io_executor ex_;
  asio::steady_timer all_done_;
  OnExit on_exit_;
  std::list<std::shared_ptr<Task>> tasks_;
};

}  // namespace koordlet::reactor
