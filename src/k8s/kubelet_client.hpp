#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>

#include "base/clock.hpp"
#include "k8s/api_client.hpp"

namespace koordlet::k8s {

/// What koordlet needs of a kubelet's configuration. No value: the kubelet does not say.
struct KubeletConfig {
  std::optional<std::string> cpu_manager_policy;  ///< "none", "static"
  std::map<std::string, std::string> cpu_manager_policy_options;
  std::optional<std::string> topology_manager_policy;
  std::optional<std::string> topology_manager_scope;
  std::optional<std::string> reserved_system_cpus;  ///< "0-1"; "" for none
  /// Why nothing is known: the kubelet refused (no rights on nodes/proxy, /configz switched off).
  std::string unknown_because;
  std::vector<std::string> faults;  ///< fields that were ignored
};
/// The body of /configz. Only the named fields are looked at, keys in any case; a field of another
/// type is left out and named. kParse: no "kubeletconfig" object in it.
Result<KubeletConfig> decode_configz(const boost::json::value& body);

/// One kubelet: HTTPS with a token or a client certificate, or its read-only port
/// (endpoint.tls = false). The kubelet's certificate is verified like any other. Errors are those
/// of ApiClient; a refusal of pods() is kDenied (401, 403) or kIo. The caller keeps its last list
/// and counts: an error is never an empty list.
class KubeletClient {
 public:
  struct Options {
    std::chrono::milliseconds timeout{3'000};  ///< connect, and then the answer
    std::size_t max_body = 64u << 20;
  };
  /// `access.endpoint` is the kubelet's; base_path is normally empty.
  KubeletClient(boost::asio::any_io_executor ex,
                ApiAccess access,
                Options options,
                const Clock& clock);
  ~KubeletClient();
  Result<void> open();  ///< see ApiClient::open(); else done by the first call

  /// GET /pods/: the items, each with apiVersion and kind.
  boost::asio::awaitable<Result<std::vector<boost::json::value>>> pods();
  /// GET /configz. A refusal (403, 404, ...) is a value with `unknown_because`.
  boost::asio::awaitable<Result<KubeletConfig>> configz();
  const ApiClient::Health& health() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A kubelet that was just restarted answers 200 with an empty list. An empty list is believed only
/// when it is the third in a row.
class EmptyGuard {
 public:
  explicit EmptyGuard(int needed = 3) : needed_{needed} {}
  /// A list of `size` came: true when it counts, false to keep the last one.
  bool believe(std::size_t size);

 private:
  int needed_;
  int empties_ = 0;
};

}  // namespace koordlet::k8s
