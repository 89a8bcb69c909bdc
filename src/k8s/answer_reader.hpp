#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>

#include "base/result.hpp"
#include "k8s/paced_json.hpp"
#include "k8s/refusal.hpp"
#include "net/http_client.hpp"

namespace koordlet::k8s {

struct PageBounds {
  std::size_t max_bytes;
  std::chrono::milliseconds silence;  ///< longest wait for the next bytes
  std::chrono::milliseconds total;    ///< from the head to the end
};

/// The body of a 200, parsed while it comes. kRange: over max_bytes; kBusy: over a time; kParse
/// with the first bytes: not JSON.
boost::asio::awaitable<Result<boost::json::value>> read_page(net::HttpStream& stream,
                                                             PageBounds bounds,
                                                             Pace& pace);

/// The body of a refusal, JSON or not; what cannot be read of it is left out.
boost::asio::awaitable<Refusal> read_refused(net::HttpStream& stream,
                                             std::chrono::milliseconds silence);

/// "not JSON: why: 'the first bytes'".
Error not_json(const Error& error, std::string_view text);

}  // namespace koordlet::k8s
