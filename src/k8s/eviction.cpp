#include "k8s/eviction.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "k8s/names.hpp"

namespace koordlet::k8s {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

/// In the order of preference.
constexpr std::array<std::string_view, 2> kVersions{"policy/v1", "policy/v1beta1"};

const json::value* member(const json::value& value, std::string_view key) {
  return value.is_object() ? value.get_object().if_contains(key) : nullptr;
}

std::string_view text(const json::value& value, std::string_view key) {
  const auto* v = member(value, key);
  return v != nullptr && v->is_string() ? std::string_view{v->get_string()} : std::string_view{};
}

const json::array* list(const json::value& value, std::string_view key) {
  const auto* v = member(value, key);
  return v != nullptr && v->is_array() ? &v->get_array() : nullptr;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_spoken(std::string_view version) {
  return std::find(kVersions.begin(), kVersions.end(), version) != kVersions.end();
}

std::string_view other(std::string_view version) {
  return version == kVersions[0] ? kVersions[1] : kVersions[0];
}

bool has_budget_cause(const json::value& details) {
  const auto* causes = list(details, "causes");
  return causes != nullptr && std::any_of(causes->begin(), causes->end(), [](const auto& cause) {
           return text(cause, "reason") == "DisruptionBudget";
         });
}

/// The server's own overload protection answers 429 too, as plain text or without a word of
/// budgets.
bool names_budget(const json::value& body) {
  const auto* details = member(body, "details");
  return contains(text(body, "message"), "disruption budget") ||
         (details != nullptr && has_budget_cause(*details));
}

/// A 404 may also mean that the server has no such subresource.
bool names_pod(const json::value& body, std::string_view name) {
  const auto* details = member(body, "details");
  if (details != nullptr && text(*details, "kind") == "pods" && text(*details, "name") == name) {
    return true;
  }
  return contains(text(body, "message"), fmt::format("pods \"{}\" not found", name));
}

/// The server does not know the version of the body, or has no evictions at all.
bool is_other_version(const ApiAnswer& answer, std::string_view name) {
  if (answer.status == 404) return !names_pod(answer.body, name);
  const auto message = text(answer.body, "message");
  return answer.status == 400 && contains(message, "Eviction") &&
         (contains(message, "no kind") || contains(message, "does not match the expected"));
}

EvictionAnswer made(EvictionResult result, std::string detail) {
  EvictionAnswer out;
  out.result = result;
  out.detail = std::move(detail);
  return out;
}

EvictionAnswer no_answer(const Error& error) {
  // kParse: somebody answered, but not the API server. kDenied: our own token file.
  switch (error.code) {
    case Errc::kParse:
    case Errc::kInvalid:
      return made(EvictionResult::kFailed, error.context);
    case Errc::kDenied:
      return made(EvictionResult::kForbidden, error.context);
    default:
      return made(EvictionResult::kUnreachable, error.context);
  }
}

EvictionResult judge(const ApiAnswer& answer, std::string_view name) {
  if (answer.ok()) return EvictionResult::kAccepted;
  switch (answer.status) {
    case 401:
    case 403:
      return EvictionResult::kForbidden;
    case 404:
      return names_pod(answer.body, name) ? EvictionResult::kGone : EvictionResult::kFailed;
    case 409:
      return EvictionResult::kNotSame;
    case 429:
      return names_budget(answer.body) ? EvictionResult::kRefused : EvictionResult::kFailed;
    default:
      return EvictionResult::kFailed;
  }
}

EvictionAnswer read_answer(const Result<ApiAnswer>& answer, std::string_view name) {
  if (!answer) return no_answer(answer.error());
  auto out = made(judge(*answer, name), answer->ok() ? std::string{} : answer->problem());
  out.retry_after = answer->retry_after;
  return out;
}

json::object eviction_body(const EvictionTarget& target, std::string_view version) {
  json::object options;
  json::object preconditions;
  preconditions["uid"] = target.uid;
  options["preconditions"] = std::move(preconditions);
  if (target.grace) options["gracePeriodSeconds"] = target.grace->count();
  json::object metadata;
  metadata["name"] = target.name;
  metadata["namespace"] = target.ns;
  json::object out;
  out["apiVersion"] = version;
  out["kind"] = "Eviction";
  out["metadata"] = std::move(metadata);
  out["deleteOptions"] = std::move(options);
  return out;
}

}  // namespace

std::string eviction_version(const json::value& resource_list) {
  const auto* resources = list(resource_list, "resources");
  if (resources == nullptr) return {};
  for (const auto& resource : *resources) {
    if (text(resource, "name") != "pods/eviction") continue;
    const auto version = fmt::format("{}/{}", text(resource, "group"), text(resource, "version"));
    return is_spoken(version) ? version : std::string{};
  }
  return {};
}

std::string policy_version(const json::value& group) {
  const auto* versions = list(group, "versions");
  if (versions == nullptr) return {};
  for (const auto wanted : kVersions) {
    for (const auto& v : *versions) {
      if (text(v, "groupVersion") == wanted) return std::string{wanted};
    }
  }
  return {};
}

EvictionClient::EvictionClient(ApiCaller call) : call_{std::move(call)} {}

/// Sets version_; an answer is why it could not.
asio::awaitable<std::optional<EvictionAnswer>> EvictionClient::discover() {
  ApiCall core;
  core.path = "/api/v1";
  const auto resources = co_await call_(std::move(core));
  if (!resources) co_return no_answer(resources.error());
  version_ = resources->ok() ? eviction_version(resources->body) : std::string{};
  if (!version_.empty()) co_return std::nullopt;
  ApiCall group;
  group.path = "/apis/policy";
  const auto policy = co_await call_(std::move(group));
  if (!policy) co_return no_answer(policy.error());
  if (policy->ok()) {
    version_ = policy_version(policy->body);
  } else if (policy->status == 401 || policy->status == 403) {
    // Discovery may be closed to us while evictions are not: the one that all servers since 1.22
    // speak.
    version_ = kVersions[0];
  }
  if (!version_.empty()) co_return std::nullopt;
  if (policy->status == 429 || policy->status >= 500) {
    co_return read_answer(policy, "");
  }
  co_return made(EvictionResult::kFailed, "the server offers no version of pods/eviction we speak");
}

asio::awaitable<Result<ApiAnswer>> EvictionClient::post(const EvictionTarget& target,
                                                        std::string version) {
  ApiCall call;
  call.method = "POST";
  call.path =
      fmt::format("/api/v1/namespaces/{}/pods/{}/eviction", escape(target.ns), escape(target.name));
  call.body = eviction_body(target, version);
  call.wait_out_retry_after = false;
  auto answer = co_await call_(std::move(call));
  co_return answer;
}

asio::awaitable<EvictionAnswer> EvictionClient::evict(EvictionTarget target) {
  if (!is_dns_label(target.ns) || !is_dns_subdomain(target.name) || !is_uid(target.uid)) {
    co_return made(EvictionResult::kFailed, "not the name of a pod");
  }
  if (version_.empty()) {
    auto failed = co_await discover();
    if (failed) co_return std::move(*failed);
  }
  const std::string used = version_;
  auto answer = co_await post(target, used);
  if (answer && is_other_version(*answer, target.name)) {
    auto failed = co_await discover();
    // A server that recommends what it just refused is tried with the other one.
    std::string next = failed || version_ == used ? std::string{other(used)} : version_;
    answer = co_await post(target, next);
    const bool known = answer && !is_other_version(*answer, target.name);
    version_ = known ? std::move(next) : std::string{};
  }
  co_return read_answer(answer, target.name);
}

}  // namespace koordlet::k8s
