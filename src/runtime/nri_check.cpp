#include "runtime/nri_check.hpp"

#include <chrono>
#include <string_view>

#include <fmt/format.h>

#include "base/parse.hpp"

namespace koordlet::runtime {
namespace {

constexpr std::size_t kShown = 80;

bool is_above_zero(const std::optional<Limit<Bytes>>& limit) {
  return !limit || limit->is_unlimited() || limit->bound()->v > 0;
}

bool is_name(const std::string& text) {
  return !text.empty() && !text.starts_with('-') && text.find('\0') == std::string::npos;
}

Error fault(const char* what, std::string_view value, const char* expected) {
  return {Errc::kInvalid,
          fmt::format("{} '{}': expected {}", what, printable(value, kShown), expected)};
}

}  // namespace

Result<void> check_resources(const HookResources& r) {
  const auto broken = [](const char* what) { return Error{Errc::kInvalid, std::string{what}}; };
  using std::chrono::microseconds;
  if (r.cpu_quota && !r.cpu_quota->is_unlimited() && *r.cpu_quota->bound() <= microseconds{0})
    return broken("cpu quota: expected one above 0, or unlimited");
  if (r.cpu_period && *r.cpu_period <= microseconds{0})
    return broken("cpu period: expected one above 0");
  if (r.cpus && r.cpus->empty()) return broken("cpus: expected at least one");
  if (r.mems && r.mems->empty()) return broken("mems: expected at least one");
  if (!is_above_zero(r.memory_limit)) return broken("memory limit: expected one above 0");
  if (!is_above_zero(r.memory_swap_limit)) return broken("memory and swap: expected one above 0");
  return {};
}

Result<void> check_adjustment(const HookAdjustment& a) {
  if (const auto ok = check_resources(a.resources); !ok) return ok;
  if (a.oom_score_adj && (*a.oom_score_adj < -1000 || *a.oom_score_adj > 1000)) {
    return Error{Errc::kInvalid,
                 fmt::format("oom_score_adj {}: expected -1000..1000", *a.oom_score_adj)};
  }
  for (const auto& [key, value] : a.annotations)
    if (!is_name(key)) return fault("annotation", key, "a key");
  for (const auto& env : a.env) {
    if (!is_name(env.name) || env.name.find('=') != std::string::npos)
      return fault("environment", env.name, "a name");
  }
  for (const auto& mount : a.mounts)
    if (!mount.destination.starts_with('/'))
      return fault("mount", mount.destination, "an absolute path");
  for (const auto& device : a.devices) {
    if (!device.path.starts_with('/')) return fault("device", device.path, "an absolute path");
    if (device.type != 'c' && device.type != 'b')
      return fault("type of device", device.path, "'c' or 'b'");
  }
  return {};
}

Result<void> check_updates(const std::vector<HookUpdate>& updates, const std::string& creating) {
  for (const auto& update : updates) {
    if (update.container_id.empty())
      return Error{Errc::kInvalid, "update: expected the id of a container"};
    const auto where = "update of " + printable(update.container_id, kShown);
    if (update.container_id == creating)
      return Error{Errc::kInvalid, where + ": expected an adjustment: it is being created"};
    if (const auto ok = check_resources(update.resources); !ok) return wrap(where, ok.error());
  }
  return {};
}

}  // namespace koordlet::runtime
