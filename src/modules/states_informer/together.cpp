#include "modules/states_informer/together.hpp"

#include <exception>
#include <stdexcept>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "reactor/task_group.hpp"

namespace koordlet::states {
namespace asio = boost::asio;

asio::awaitable<void> run_together(
    asio::any_io_executor ex, std::vector<std::pair<std::string, asio::awaitable<void>>> parts) {
  std::exception_ptr failure;
  asio::steady_timer stopped{ex, asio::steady_timer::time_point::max()};
  bool ended = false;
  reactor::TaskGroup tasks{ex, [&](const std::string&, const std::exception_ptr& e) {
                             if (e && !failure) failure = e;
                             ended = true;
                             stopped.cancel();
                           }};
  for (auto& [name, body] : parts) tasks.spawn(name, std::move(body));
  if (!ended) co_await stopped.async_wait(reactor::use_ec);
  // Cancelled, or one of them failed: all end before this frame does.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  tasks.request_stop();
  const bool joined = co_await tasks.join(std::chrono::seconds{5});
  if (failure) std::rethrow_exception(failure);
  if (!joined) throw std::runtime_error{"states informer: a task did not stop"};
}

}  // namespace koordlet::states
