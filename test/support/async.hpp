#pragma once

#include <exception>
#include <optional>
#include <stdexcept>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

namespace koordlet::test {

/// Runs one coroutine to its end on `io` and returns its result. Throws when the loop runs dry
/// before that.
template <class T>
T run(boost::asio::io_context& io, boost::asio::awaitable<T> body) {
  std::optional<T> out;
  std::exception_ptr failure;
  boost::asio::co_spawn(io, std::move(body), [&](std::exception_ptr e, T value) {
    failure = e;
    if (!e) out.emplace(std::move(value));
    io.stop();
  });
  io.restart();
  io.run();
  if (failure) std::rethrow_exception(failure);
  if (!out) throw std::logic_error{"the loop ran dry before the coroutine ended"};
  return std::move(*out);
}

inline void run(boost::asio::io_context& io, boost::asio::awaitable<void> body) {
  bool done = false;
  std::exception_ptr failure;
  boost::asio::co_spawn(io, std::move(body), [&](std::exception_ptr e) {
    failure = e;
    done = true;
    io.stop();
  });
  io.restart();
  io.run();
  if (failure) std::rethrow_exception(failure);
  if (!done) throw std::logic_error{"the loop ran dry before the coroutine ended"};
}

}  // namespace koordlet::test
