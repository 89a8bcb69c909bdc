#include "k8s/applied_versions.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/parse.hpp"

namespace koordlet::k8s {
namespace {

constexpr std::size_t kMaxDead = 1024;

std::string key_of(const boost::json::value& object) {
  const auto uid = metadata_text(object, "uid");
  if (!uid.empty()) return std::string{uid};
  const auto name = metadata_text(object, "name");
  if (name.empty()) return {};
  return fmt::format("{}/{}", metadata_text(object, "namespace"), name);
}

std::optional<std::uint64_t> version_of(const boost::json::value& object) {
  return numeric_version(metadata_text(object, "resourceVersion"));
}

}  // namespace

std::optional<std::uint64_t> numeric_version(std::string_view text) {
  const auto number = parse_u64(text);
  if (!number) return std::nullopt;
  return *number;
}

std::string_view metadata_text(const boost::json::value& object, std::string_view key) {
  if (!object.is_object()) return {};
  const auto* metadata = object.get_object().if_contains("metadata");
  if (metadata == nullptr || !metadata->is_object()) return {};
  const auto* value = metadata->get_object().if_contains(key);
  if (value == nullptr || !value->is_string()) return {};
  return value->get_string();
}

void AppliedVersions::stage(const boost::json::value& object) {
  auto key = key_of(object);
  if (!key.empty()) staged_.insert_or_assign(std::move(key), version_of(object));
}

void AppliedVersions::commit() {
  live_ = std::exchange(staged_, {});
  // A fresh list may come from a server whose versions start anew.
  dead_.clear();
  burials_.clear();
}

void AppliedVersions::abandon() { staged_.clear(); }

AppliedVersions::Verdict AppliedVersions::update(const boost::json::value& object) {
  auto key = key_of(object);
  if (key.empty()) return Verdict::kNoName;
  const auto version = version_of(object);
  const auto known = live_.find(key);
  if (known != live_.end()) {
    if (version && known->second && *version <= *known->second) return Verdict::kOld;
    known->second = version;
    return Verdict::kApply;
  }
  // A pod that leaves a selector is DELETED for the watch, and may come back as a newer version.
  const auto dead = dead_.find(key);
  if (dead != dead_.end() && version && dead->second && *version <= *dead->second) {
    return Verdict::kOld;
  }
  live_.emplace(std::move(key), version);
  return Verdict::kApply;
}

AppliedVersions::Verdict AppliedVersions::remove(const boost::json::value& object) {
  auto key = key_of(object);
  if (key.empty()) return Verdict::kNoName;
  const auto known = live_.find(key);
  if (known == live_.end()) return Verdict::kUnknown;
  const auto version = version_of(object);
  // The same version is no duplicate here: old servers send the last state with its own version.
  if (version && known->second && *version < *known->second) return Verdict::kOld;
  const auto last = version ? version : known->second;
  live_.erase(known);
  bury(std::move(key), last);
  return Verdict::kApply;
}

void AppliedVersions::bury(std::string key, Version version) {
  if (!dead_.insert_or_assign(key, version).second) return;
  burials_.push_back(std::move(key));
  if (burials_.size() <= kMaxDead) return;
  dead_.erase(burials_.front());
  burials_.pop_front();
}

}  // namespace koordlet::k8s
