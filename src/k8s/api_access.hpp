#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "net/http_client.hpp"

namespace koordlet::k8s {

/// How to reach and convince an API server. Files are named, not read in: tokens and certificates
/// rotate.
struct ApiAccess {
  net::HttpEndpoint endpoint;
  std::string base_path;  ///< path of the server URL without '/' at its end; usually empty
  std::string ca_file;    ///< PEM; empty: ca_pem, then the system's store
  std::string ca_pem;
  std::string token_file;           ///< read again each minute, and at once on 401
  std::string token;                ///< fixed; used when there is no token_file
  std::string cert_file, cert_pem;  ///< client certificate
  std::string key_file, key_pem;
  std::string source;  ///< for messages: "in-cluster", or the kubeconfig's path
};

/// KUBERNETES_SERVICE_HOST/PORT and the service account folder (token, ca.crt).
struct InCluster {
  std::string host, port;
  std::string folder = "/var/run/secrets/kubernetes.io/serviceaccount";
};
InCluster in_cluster_from_environment();
/// kNotFound: not in a cluster (no variables or no token), with what is missing.
Result<ApiAccess> access_in_cluster(const InCluster& where);
/// A kubeconfig: its current context. Files are relative to the kubeconfig's folder. Taken: server
/// (https and http), certificate-authority(-data), tls-server-name, token, tokenFile,
/// client-certificate(-data), client-key(-data). What is not supported is refused by name: exec,
/// auth-provider, username/password, insecure-skip-tls-verify: true, proxy-url, impersonation
/// ("as").
Result<ApiAccess> access_from_kubeconfig(const std::string& file);
/// The PEM texts of `access`; its files are read, at most 1 MiB each. An empty file is an error.
Result<net::TlsOptions> read_tls_options(const ApiAccess& access);
/// Reads the files named in `access` and makes the TLS context. At most 1 MiB a file.
Result<std::shared_ptr<net::TlsContext>> make_tls(const ApiAccess& access);

}  // namespace koordlet::k8s
