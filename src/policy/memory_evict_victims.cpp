#include "policy/memory_evict_victims.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "base/parse.hpp"

namespace koordlet::policy {
namespace {

constexpr const char* kEvictionPriority = "koordinator.sh/eviction-priority";
constexpr const char* kEvictionPolicy = "koordinator.sh/eviction-policy";
constexpr const char* kSubPriority = "koordinator.sh/priority";
constexpr const char* kHandsOff = "koordinator.sh/qos-hands-off";
constexpr const char* kConfigMirror = "kubernetes.io/config.mirror";
constexpr const char* kConfigSource = "kubernetes.io/config.source";
/// system-node-critical and system-cluster-critical begin here; kubelet never evicts them either.
constexpr int kCritical = 2'000'000'000;

using Texts = std::map<std::string, std::string>;

std::optional<std::int64_t> number_of(const Texts& texts, const char* key) {
  const auto found = texts.find(key);
  if (found == texts.end()) return std::nullopt;
  const auto value = parse_i64(found->second);
  if (!value) return std::nullopt;  // an invalid one is as good as none
  return *value;
}

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

bool hands_off(const Pod& pod, const EffectiveConfig& config) {
  const auto mark = pod.annotations.find(kHandsOff);
  if (mark == pod.annotations.end() || mark->second != "true") return false;
  const auto& allowed = config.hands_off_namespaces;
  return std::find(allowed.begin(), allowed.end(), pod.ns) != allowed.end();
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

std::string_view exempt(const Pod& pod, const EffectiveConfig& config, std::string_view feature) {
  if (pod.qos != QosClass::kBe) {
    const bool bare = pod.qos == QosClass::kNone && pod.kube_qos == KubeQos::kBestEffort;
    if (!bare) return "not BE";
    if (!config.memory_evict.include_kube_best_effort.value_or(false)) {
      return "BestEffort without the label koordinator.sh/qosClass";
    }
  }
  if (is_static(pod)) return "static pod";
  if (pod.owner && (pod.owner->kind == "DaemonSet" || pod.owner->kind == "Node")) {
    return "would come back to this node at once";
  }
  if (pod.priority.value_or(0) >= kCritical) return "critical priority";
  if (!policy_allows(pod, feature)) return "its eviction-policy does not allow it";
  if (hands_off(pod, config)) return "hands off";
  return {};
}

EvictCandidate make_candidate(const Pod& pod) {
  EvictCandidate out;
  out.pod = &pod;
  out.owner = owner_text(pod);
  const auto eviction = number_of(pod.annotations, kEvictionPriority).value_or(0);
  using Int = std::numeric_limits<std::int32_t>;
  if (eviction >= Int::min() && eviction <= Int::max()) {
    out.eviction_priority = static_cast<int>(eviction);
  }
  out.priority = priority_value(pod);
  out.sub_priority = number_of(pod.labels, kSubPriority).value_or(out.priority);
  return out;
}

bool goes_before(const EvictCandidate& a, const EvictCandidate& b) {
  const auto key = [](const EvictCandidate& c) {
    // Negated, so that more memory sorts first; a use is never negative.
    return std::make_tuple(c.eviction_priority,
                           c.priority,
                           c.sub_priority,
                           !c.memory.has_value(),
                           -c.memory.value_or(Bytes{}).v);
  };
  const auto ka = key(a), kb = key(b);
  if (ka != kb) return ka < kb;
  return std::tie(a.pod->ns, a.pod->name, a.pod->uid) <
         std::tie(b.pod->ns, b.pod->name, b.pod->uid);
}

Victims find_victims(const Snapshot& snap,
                     const EffectiveConfig& config,
                     const EvictionLedger& ledger,
                     std::string_view feature,
                     std::chrono::seconds fresh) {
  Victims out;
  for (const auto& pod : snap.state->pods) {
    if (!is_active(*pod) || pod->terminating) continue;
    if (!exempt(*pod, config, feature).empty()) continue;
    const auto use = snap.pods.find(pod->uid);
    const bool young =
        use != snap.pods.end() && use->second.memory && snap.now - use->second.at <= fresh;
    if (!young) {
      if (pod->phase == PodPhase::kRunning) ++out.stale;
      continue;
    }
    if (*use->second.memory < kMinVictim) continue;
    if (!pod_bar(ledger, *pod, snap.now).empty()) {
      ++out.held;
      continue;
    }
    auto candidate = make_candidate(*pod);
    candidate.memory = use->second.memory;
    out.sum += *candidate.memory;
    out.usable.push_back(std::move(candidate));
  }
  std::sort(out.usable.begin(), out.usable.end(), goes_before);
  return out;
}

}  // namespace koordlet::policy
