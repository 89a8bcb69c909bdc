#pragma once

#include <string>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "reactor/task_group.hpp"

namespace koordlet::states {

using reactor::is_stopped;

/// Runs named parts until the caller is cancelled or one of them ends; then the others are stopped
/// and awaited. The first exception is passed on.
boost::asio::awaitable<void> run_together(
    boost::asio::any_io_executor ex,
    std::vector<std::pair<std::string, boost::asio::awaitable<void>>> parts);

}  // namespace koordlet::states
