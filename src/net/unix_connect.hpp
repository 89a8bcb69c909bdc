#pragma once

#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "base/result.hpp"

namespace koordlet::net {

/// Connects to a listening unix socket; the kernel does it at once or not at all.
/// kRange: no path of 1 to 107 bytes; kNotFound: no such socket; kDenied: no rights; kBusy: nobody
/// listens, or too many wait to be accepted.
Result<boost::asio::local::stream_protocol::socket> connect_unix(
    const boost::asio::any_io_executor& ex, const std::string& path);

}  // namespace koordlet::net
