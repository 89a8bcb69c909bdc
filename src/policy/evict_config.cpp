#include "policy/evict_config.hpp"

#include <fmt/format.h>

#include "policy/config.hpp"
#include "policy/config_fields.hpp"

namespace koordlet::policy {
namespace {

/// Collects the faults of one section.
class Section {
 public:
  Section(std::string_view name, std::vector<std::string>& faults) : name_{name}, faults_{faults} {}

  bool range(std::string_view key, int value, int low, int high) const {
    const bool good = value >= low && value <= high;
    if (!good) faults_.push_back(range_fault(path(key), value, low, high));
    return good;
  }
  bool range(std::string_view key, const std::optional<int>& value, int low, int high) const {
    return !value || range(key, *value, low, high);
  }
  void say(std::string_view key, std::string_view value, std::string_view expected) const {
    faults_.push_back(fmt::format("{}: {}: expected {}", path(key), value, expected));
  }
  std::string path(std::string_view key) const { return fmt::format("qos.{}.{}", name_, key); }

  /// A rule that is on needs the other key.
  void needs(bool on,
             std::string_view key,
             const std::optional<int>& bound,
             std::string_view what) const {
    if (on && !bound) say(key, "true", fmt::format("qos.evict.{} to be a priority", what));
  }
  void below(int lower, int threshold) const {
    if (lower < threshold) return;
    say("lower_percent",
        std::to_string(lower),
        fmt::format("less than {} ({})", path("threshold_percent"), threshold));
  }

 private:
  std::string_view name_;
  std::vector<std::string>& faults_;
};

void validate_marks(const UseMarks& m, const Section& section) {
  const bool threshold = section.range("threshold_percent", m.threshold_percent, 1, 100);
  const bool lower = section.range("lower_percent", m.lower_percent, 0, 100);
  if (threshold && lower) section.below(m.lower(), m.threshold_percent);
}

void validate_shared(const EvictConfig& e, const Section& section) {
  section.range("node_max_evictions", e.node_max_evictions, 1, 1000);
  section.range("owner_max_evictions", e.owner_max_evictions, 1, 100);
  section.range("release_grace_seconds", e.release_grace_seconds, 1, 600);
  section.range("cpu_cooldown_seconds", e.cpu_cooldown_seconds, 0, 3600);
  section.range("memory_cooldown_seconds", e.memory_cooldown_seconds, 0, 3600);
  section.range("cpu_window_seconds", e.cpu_window_seconds, 1, 3600);
  section.range("priority_threshold", e.priority_threshold, 0, 9999);
  section.range("allocatable_priority_threshold", e.allocatable_priority_threshold, 0, 7999);
}

void validate_be_cpu(const BeCpuEvictConfig& b, const Section& section) {
  const bool lower = section.range("lower_percent", b.lower_percent, 1, 60);
  const bool upper = section.range("upper_percent", b.upper_percent, 1, 99);
  if (lower && upper && b.upper_percent < b.lower_percent) {
    section.say("upper_percent",
                std::to_string(b.upper_percent),
                fmt::format("at least {} ({})", section.path("lower_percent"), b.lower_percent));
  }
  section.range("usage_threshold_percent", b.usage_threshold_percent, 1, 100);
}

void validate_allocatable(const AllocatableEvictConfig& a,
                          const EvictConfig& shared,
                          const Section& section) {
  const bool threshold = section.range("threshold_percent", a.threshold_percent, 1, 1000);
  const bool lower = section.range("lower_percent", a.lower_percent, 0, 999);
  if (threshold && lower) section.below(a.lower_percent, a.threshold_percent);
  section.needs(
      a.enable, "enable", shared.allocatable_priority_threshold, "allocatable_priority_threshold");
}

}  // namespace

void validate_evict(const QosConfig& config, std::vector<std::string>& faults) {
  const auto& bound = config.evict.priority_threshold;
  validate_shared(config.evict, {"evict", faults});
  const Section memory{"memory_evict", faults};
  validate_marks(config.memory_evict, memory);
  memory.needs(config.memory_evict.by_priority, "by_priority", bound, "priority_threshold");
  const Section cpu{"cpu_evict", faults};
  validate_marks(config.cpu_evict, cpu);
  cpu.needs(config.cpu_evict.enable, "enable", bound, "priority_threshold");
  validate_be_cpu(config.be_cpu_evict, {"be_cpu_evict", faults});
  validate_allocatable(
      config.cpu_allocatable_evict, config.evict, {"cpu_allocatable_evict", faults});
  validate_allocatable(
      config.memory_allocatable_evict, config.evict, {"memory_allocatable_evict", faults});
}

}  // namespace koordlet::policy
