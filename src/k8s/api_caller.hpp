#pragma once

#include <functional>
#include <utility>

#include <boost/asio/awaitable.hpp>

#include "k8s/api_client.hpp"

namespace koordlet::k8s {

/// ApiClient::call, or what stands for it in a test.
using ApiCaller = std::function<boost::asio::awaitable<Result<ApiAnswer>>(ApiCall call)>;

/// `client` must outlive the caller and its calls.
inline ApiCaller caller_of(ApiClient& client) {
  return [&client](ApiCall call) { return client.call(std::move(call)); };
}

}  // namespace koordlet::k8s
