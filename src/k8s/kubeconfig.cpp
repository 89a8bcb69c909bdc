#include <filesystem>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "k8s/api_access.hpp"
#include "k8s/base64.hpp"
#include "k8s/fields.hpp"
#include "k8s/manifest.hpp"
#include "k8s/server_url.hpp"
#include "kernel/fd.hpp"

namespace koordlet::k8s {
namespace {

constexpr std::size_t kMaxKubeconfig = 1u << 20;

/// The entry of `list` ("clusters") with that name, and in it the object under `member`.
Result<Fields> find_entry(const Fields& config,
                          std::string_view list,
                          std::string_view member,
                          const std::string& name) {
  const auto* entries = config.array(list);
  if (entries != nullptr) {
    for (const auto& entry : *entries) {
      if (!entry.is_object()) continue;
      const Fields fields{entry.get_object(), std::string{list}, config.refusals()};
      if (fields.text("name").value != name) continue;
      const auto found = fields.object(member);
      if (found.value) return *found.value;
      return Error{Errc::kParse,
                   fmt::format("{} '{}': {}: expected an object", list, name, member)};
    }
  }
  return Error{Errc::kParse, fmt::format("{}: no entry named '{}'", list, name)};
}

/// Text that may be secret: a message never shows it.
Result<std::string> text_of(const Fields& fields, std::string_view key) {
  const auto* value = fields.find(key);
  if (value == nullptr) return std::string{};
  if (!value->is_string()) {
    return Error{Errc::kParse,
                 fmt::format("{}: expected text (numbers need quotes)", fields.path(key))};
  }
  return std::string{value->get_string()};
}

/// A file name relative to the kubeconfig, or the text itself in base64, which wins.
Result<void> file_or_data(const Fields& fields,
                          const std::string& key,
                          const std::filesystem::path& folder,
                          std::string& file,
                          std::string& data) {
  const auto encoded = text_of(fields, key + "-data");
  if (!encoded) return encoded.error();
  if (!encoded->empty()) {
    auto decoded = decode_base64(*encoded);
    if (!decoded) return wrap(fields.path(key + "-data"), decoded.error());
    data = std::move(*decoded);
    return {};
  }
  const auto name = text_of(fields, key);
  if (!name) return name.error();
  if (!name->empty()) file = (folder / *name).string();
  return {};
}

Result<void> refuse_present(const Fields& fields, std::initializer_list<std::string_view> keys) {
  for (const auto key : keys) {
    const auto* value = fields.find(key);
    if (value == nullptr) continue;
    const bool empty = (value->is_string() && value->get_string().empty()) ||
                       (value->is_array() && value->get_array().empty()) ||
                       (value->is_object() && value->get_object().empty());
    if (!empty)
      return Error{Errc::kNotSupported, fmt::format("{}: not supported", fields.path(key))};
  }
  return {};
}

Result<void> take_cluster(const Fields& cluster,
                          const std::filesystem::path& folder,
                          ApiAccess& access) {
  if (auto done = refuse_present(cluster, {"proxy-url"}); !done) return done;
  const auto insecure = cluster.boolean("insecure-skip-tls-verify");
  if (insecure.refused || insecure.value.value_or(false)) {
    return Error{Errc::kNotSupported,
                 fmt::format("{}: not supported: name the CA in certificate-authority",
                             cluster.path("insecure-skip-tls-verify"))};
  }
  const auto server = text_of(cluster, "server");
  if (!server) return server.error();
  auto url = parse_server_url(*server);
  if (!url) return wrap(cluster.path("server"), url.error());
  access.endpoint = std::move(url->endpoint);
  access.base_path = std::move(url->base_path);
  const auto name = text_of(cluster, "tls-server-name");
  if (!name) return name.error();
  if (!name->empty() && !is_host(*name)) {
    return Error{Errc::kParse,
                 fmt::format("{}: expected a host name", cluster.path("tls-server-name"))};
  }
  access.endpoint.server_name = *name;
  return file_or_data(cluster, "certificate-authority", folder, access.ca_file, access.ca_pem);
}

Result<void> take_user(const Fields& user, const std::filesystem::path& folder, ApiAccess& access) {
  auto done = refuse_present(user,
                             {"exec",
                              "auth-provider",
                              "username",
                              "password",
                              "as",
                              "as-uid",
                              "as-groups",
                              "as-user-extra"});
  if (!done) return done;
  const auto token = text_of(user, "token");
  if (!token) return token.error();
  access.token = *token;
  const auto token_file = text_of(user, "tokenFile");
  if (!token_file) return token_file.error();
  if (!token_file->empty()) access.token_file = (folder / *token_file).string();
  done = file_or_data(user, "client-certificate", folder, access.cert_file, access.cert_pem);
  if (!done) return done;
  done = file_or_data(user, "client-key", folder, access.key_file, access.key_pem);
  if (!done) return done;
  const bool cert = !access.cert_file.empty() || !access.cert_pem.empty();
  const bool key = !access.key_file.empty() || !access.key_pem.empty();
  if (cert != key) {
    return Error{Errc::kParse, "user: client-certificate and client-key: expected both or none"};
  }
  return {};
}

Result<ApiAccess> decode_kubeconfig(const json::object& root, const std::filesystem::path& folder) {
  Refusals refusals{"kubeconfig"};
  const Fields config{root, "", refusals};
  const auto current = config.text("current-context").value.value_or("");
  if (current.empty()) {
    return Error{Errc::kParse, "current-context: expected the name of a context"};
  }
  const auto context = find_entry(config, "contexts", "context", current);
  if (!context) return context.error();
  const auto cluster_name = context->text("cluster").value.value_or("");
  const auto cluster = find_entry(config, "clusters", "cluster", cluster_name);
  if (!cluster) return cluster.error();
  ApiAccess access;
  if (auto done = take_cluster(*cluster, folder, access); !done) return done.error();
  const auto user_name = context->text("user").value.value_or("");
  if (user_name.empty()) return access;  // anonymous, as kubectl has it
  const auto user = find_entry(config, "users", "user", user_name);
  if (!user) return user.error();
  if (auto done = take_user(*user, folder, access); !done) return done.error();
  return access;
}

}  // namespace

Result<ApiAccess> access_from_kubeconfig(const std::string& file) {
  const auto text = kernel::read_file(file, kMaxKubeconfig);
  if (!text) return wrap("kubeconfig", text.error());
  const auto documents = parse_documents(*text, kMaxKubeconfig);
  const auto subject = fmt::format("kubeconfig {}", file);
  if (!documents) return wrap(subject, documents.error());
  if (documents->size() != 1 || !documents->front().is_object()) {
    return Error{Errc::kParse, fmt::format("{}: expected one document", subject)};
  }
  auto access =
      decode_kubeconfig(documents->front().get_object(), std::filesystem::path{file}.parent_path());
  if (!access) return wrap(subject, access.error());
  access->source = file;
  return access;
}

}  // namespace koordlet::k8s
