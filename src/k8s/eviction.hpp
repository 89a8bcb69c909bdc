#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "base/result.hpp"
#include "k8s/api_caller.hpp"
#include "model/eviction.hpp"

namespace koordlet::k8s {

struct EvictionTarget {
  std::string ns;
  std::string name;
  std::string uid;  ///< only this very pod: a successor of the same name is not touched
  std::optional<std::chrono::seconds> grace;  ///< not set: the pod's own
};

/// What the server said to one eviction.
struct EvictionAnswer {
  EvictionResult result = EvictionResult::kFailed;
  std::string detail;  ///< printable; "" when accepted
  std::optional<std::chrono::seconds> retry_after;
};

/// POST pods/eviction. Asks the server once which policy version it speaks (the resource list of
/// core v1, else the group itself), prefers policy/v1, and asks again whenever the server does not
/// know the one in use. One call at a time. What `call` refers to must outlive it.
///
/// Accepted: any 2xx. Refused: 429 of a disruption budget; any other 429 is the server's own load:
/// failed. Gone: 404 that names the pod. Not the same: 409. Forbidden: 401, 403. Unreachable: no
/// answer. Failed: everything else, also a 2xx that is not the API server's (an HTML page).
class EvictionClient {
 public:
  explicit EvictionClient(ApiCaller call);

  boost::asio::awaitable<EvictionAnswer> evict(EvictionTarget target);
  /// "policy/v1", "policy/v1beta1"; "" before the first eviction.
  const std::string& version() const { return version_; }

 private:
  boost::asio::awaitable<std::optional<EvictionAnswer>> discover();
  boost::asio::awaitable<Result<ApiAnswer>> post(const EvictionTarget& target, std::string version);

  ApiCaller call_;
  std::string version_;
};

/// Version of pods/eviction in the resource list of core v1; "" when it is not there.
std::string eviction_version(const boost::json::value& resource_list);
/// The best version of an APIGroup that we speak; "" when there is none.
std::string policy_version(const boost::json::value& group);

}  // namespace koordlet::k8s
