#include "policy/evict_filter.hpp"

#include <algorithm>

#include "base/parse.hpp"
#include "policy/hands_off.hpp"

namespace koordlet::policy {
namespace {

constexpr const char* kEvictionPolicy = "koordinator.sh/eviction-policy";
constexpr const char* kEvictionEnabled = "koordinator.sh/eviction-enabled";
constexpr const char* kConfigMirror = "kubernetes.io/config.mirror";
constexpr const char* kConfigSource = "kubernetes.io/config.source";
/// system-node-critical and system-cluster-critical begin here; kubelet never evicts them either.
constexpr int kCritical = 2'000'000'000;

void skip_blanks(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n"), rest.size()));
}

bool take(std::string_view& rest, char c) {
  skip_blanks(rest);
  if (rest.empty() || rest.front() != c) return false;
  rest.remove_prefix(1);
  return true;
}

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
}

/// What an escape stands for. Feature names need none, so a \uXXXX only has to be well-formed: it
/// becomes a byte that is in no name.
std::optional<char> take_escape(std::string_view& rest) {
  if (rest.empty()) return std::nullopt;
  const char c = rest.front();
  rest.remove_prefix(1);
  if (c == 'u') {
    if (rest.size() < 4 || !is_hex(rest.substr(0, 4))) return std::nullopt;
    rest.remove_prefix(4);
    return '\x7f';
  }
  if (c == '"' || c == '\\' || c == '/') return c;
  return std::string_view{"bfnrt"}.find(c) == std::string_view::npos ? std::nullopt
                                                                     : std::optional{'\x7f'};
}

std::optional<std::string> take_string(std::string_view& rest) {
  if (!take(rest, '"')) return std::nullopt;
  std::string out;
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == '"') return out;
    if (static_cast<unsigned char>(c) < 0x20) return std::nullopt;
    if (c != '\\') {
      out.push_back(c);
      continue;
    }
    const auto escaped = take_escape(rest);
    if (!escaped) return std::nullopt;
    out.push_back(*escaped);
  }
  return std::nullopt;
}

bool is_static(const Pod& pod) {
  if (pod.annotations.contains(kConfigMirror)) return true;
  const auto source = pod.annotations.find(kConfigSource);
  return source != pod.annotations.end() && source->second != "api";
}

/// BE by its label; BestEffort without one only where that is wanted.
std::string_view not_be(const Pod& pod, const EffectiveConfig& config) {
  if (pod.qos == QosClass::kBe) return {};
  const bool bare = pod.qos == QosClass::kNone && pod.kube_qos == KubeQos::kBestEffort;
  if (!bare) return "not BE";
  if (config.evict.include_kube_best_effort.value_or(false)) return {};
  return "BestEffort without the label koordinator.sh/qosClass";
}

std::string_view not_offered(const Pod& pod, const std::optional<int>& bound) {
  const auto label = pod.labels.find(kEvictionEnabled);
  if (label == pod.labels.end() || label->second != "true") {
    return "without the label koordinator.sh/eviction-enabled: \"true\"";
  }
  if (!bound || priority_value(pod) > *bound) return "its priority is above the threshold";
  return {};
}

std::string_view not_of_rule(const Pod& pod, const EffectiveConfig& config, EvictPlugin plugin) {
  switch (plugin) {
    case EvictPlugin::kBeMemory:
    case EvictPlugin::kBeCpu:
      return not_be(pod, config);
    case EvictPlugin::kMemory:
    case EvictPlugin::kCpu:
      return not_offered(pod, config.evict.priority_threshold);
    case EvictPlugin::kMemoryAllocatable:
    case EvictPlugin::kCpuAllocatable:
      return not_offered(pod, config.evict.allocatable_priority_threshold);
  }
  return "no such rule";
}

}  // namespace

std::optional<std::vector<std::string>> parse_names(std::string_view rest) {
  std::vector<std::string> out;
  if (!take(rest, '[')) return std::nullopt;
  if (!take(rest, ']')) {
    do {
      auto name = take_string(rest);
      if (!name) return std::nullopt;
      out.push_back(std::move(*name));
    } while (take(rest, ','));
    if (!take(rest, ']')) return std::nullopt;
  }
  skip_blanks(rest);
  if (!rest.empty()) return std::nullopt;
  return out;
}

bool policy_allows(const Pod& pod, std::string_view feature) {
  const auto policy = pod.annotations.find(kEvictionPolicy);
  if (policy == pod.annotations.end()) return true;
  const auto names = parse_names(policy->second);
  return names && std::find(names->begin(), names->end(), feature) != names->end();
}

std::string_view exempt(const Pod& pod, const EffectiveConfig& config, EvictPlugin plugin) {
  if (const auto why = not_of_rule(pod, config, plugin); !why.empty()) return why;
  if (is_static(pod)) return "static pod";
  if (pod.owner && (pod.owner->kind == "DaemonSet" || pod.owner->kind == "Node")) {
    return "would come back to this node at once";
  }
  if (pod.priority.value_or(0) >= kCritical) return "critical priority";
  if (!policy_allows(pod, feature_of(plugin))) return "its eviction-policy does not allow it";
  if (hands_off(pod, config.hands_off_namespaces)) return "hands off";
  return {};
}

}  // namespace koordlet::policy
