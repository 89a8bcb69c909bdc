#include "k8s/api_access.hpp"

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "k8s/server_url.hpp"
#include "kernel/fd.hpp"

namespace koordlet::k8s {
namespace {

constexpr std::size_t kMaxPem = 1u << 20;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string{} : std::string{value};
}

Result<void> read_pem(const std::string& file, std::string_view what, std::string& into) {
  if (file.empty()) return {};
  auto text = kernel::read_file(file, kMaxPem);
  if (!text) return wrap(what, text.error());
  // An empty CA text would mean the system's store: half a rotation must not widen trust.
  if (text->empty()) return Error{Errc::kParse, fmt::format("{}: {}: empty file", what, file)};
  into = std::move(*text);
  return {};
}

}  // namespace

InCluster in_cluster_from_environment() {
  InCluster where;
  where.host = environment("KUBERNETES_SERVICE_HOST");
  where.port = environment("KUBERNETES_SERVICE_PORT");
  return where;
}

Result<ApiAccess> access_in_cluster(const InCluster& where) {
  if (where.host.empty() || where.port.empty()) {
    return Error{
        Errc::kNotFound,
        fmt::format("not in a cluster: {} is not set",
                    where.host.empty() ? "KUBERNETES_SERVICE_HOST" : "KUBERNETES_SERVICE_PORT")};
  }
  ApiAccess access;
  access.source = "in-cluster";
  if (!is_host(where.host)) {
    return Error{Errc::kParse,
                 fmt::format("KUBERNETES_SERVICE_HOST: '{}': expected a host name or address",
                             where.host.substr(0, 100))};
  }
  access.endpoint.host = where.host;
  const auto port = parse_port(where.port);
  if (!port) return wrap("KUBERNETES_SERVICE_PORT", port.error());
  access.endpoint.port = *port;
  access.token_file = where.folder + "/token";
  access.ca_file = where.folder + "/ca.crt";
  const auto token = kernel::read_file(access.token_file, kMaxPem);
  if (!token && token.error().code == Errc::kNotFound) {
    return Error{Errc::kNotFound,
                 fmt::format("not in a cluster: no service account token: {}", access.token_file)};
  }
  if (!token) return wrap("service account token", token.error());
  return access;
}

Result<net::TlsOptions> read_tls_options(const ApiAccess& access) {
  net::TlsOptions options;
  options.ca_pem = access.ca_pem;
  options.cert_pem = access.cert_pem;
  options.key_pem = access.key_pem;
  if (auto ca = read_pem(access.ca_file, "ca", options.ca_pem); !ca) return ca.error();
  if (auto cert = read_pem(access.cert_file, "client certificate", options.cert_pem); !cert) {
    return cert.error();
  }
  if (auto key = read_pem(access.key_file, "client key", options.key_pem); !key) {
    return key.error();
  }
  return options;
}

Result<std::shared_ptr<net::TlsContext>> make_tls(const ApiAccess& access) {
  auto options = read_tls_options(access);
  if (!options) return options.error();
  return net::TlsContext::make(*options);
}

}  // namespace koordlet::k8s
