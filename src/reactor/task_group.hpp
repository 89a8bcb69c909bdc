#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace koordlet::reactor {

namespace asio = boost::asio;
/// Errors as values: auto [ec, n] = co_await op(use_ec).
inline constexpr auto use_ec = asio::as_tuple(asio::use_awaitable);

/// Coroutines with one owner: started by name, asked to stop, awaited. A finished task is erased at
/// once. The group must outlive its tasks: join() before destruction. One thread.
class TaskGroup {
 public:
  /// Called when a task ends; the pointer is set when it ended by an exception that is not a
  /// cancellation.
  using OnExit = std::function<void(const std::string& name, const std::exception_ptr&)>;
  TaskGroup(asio::any_io_executor ex, OnExit on_exit);
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  void spawn(std::string name, asio::awaitable<void> body);
  void request_stop();                                          ///< last started stops first
  asio::awaitable<bool> join(std::chrono::milliseconds grace);  ///< false: grace ran out
  std::size_t live() const { return tasks_.size(); }
  std::vector<std::string> live_names() const;  ///< to name what is stuck

 private:
  struct Task;
  asio::any_io_executor ex_;
  asio::steady_timer all_done_;
  OnExit on_exit_;
  std::list<Task> tasks_;
};

}  // namespace koordlet::reactor
