#pragma once

#include <exception>
#include <optional>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

// Template half of worker.hpp.
