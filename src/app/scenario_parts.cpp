#include "app/scenario_parts.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/parse.hpp"

namespace koordlet::app {
namespace {

using namespace std::chrono_literals;
using sim::milliseconds;

constexpr double kMostCores = 4096;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr milliseconds kLongest = 7 * 24h;

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= 40 && text.front() != '-' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

void cores(TomlFields& f, std::string_view key, std::optional<MilliCpu>& out) {
  double v = 0;
  if (f.number(key, v, 0.001, kMostCores)) {
    out = MilliCpu{static_cast<std::int64_t>(v * 1000 + 0.5)};
  }
}

}  // namespace

void ScenarioFields::steps(TomlFields& f, sim::Demand& out) {
  const auto* node = f.node("steps");
  const auto* list = node != nullptr ? node->as_array() : nullptr;
  bool good = list != nullptr && !list->empty() && list->size() <= 10'000;
  for (std::size_t i = 0; good && i < list->size(); ++i) {
    const auto* pair = list->get(i)->as_array();
    good = pair != nullptr && pair->size() == 2 && pair->get(0)->is_string() &&
           (pair->get(1)->is_integer() || pair->get(1)->is_floating_point());
    if (!good) break;
    const auto at = parse_span_ms(pair->get(0)->as_string()->get());
    const double value = *pair->get(1)->value<double>();
    good = at && *at <= kLongest.count() && value >= 0 && value <= kMostCores &&
           (out.steps.empty() || milliseconds{*at} > out.steps.back().first);
    if (good) out.steps.emplace_back(milliseconds{*at}, value);
  }
  if (!good) f.refuse("steps", "pairs [\"TIME\", CORES], times rising, cores from 0 to 4096");
}

void ScenarioFields::curve(TomlFields f, sim::Demand& out) {
  int which = 0;
  f.choice("curve", which, {"constant", "steps", "sine", "day"});
  out.curve = static_cast<sim::Demand::Curve>(which);
  switch (out.curve) {
    case sim::Demand::Curve::kConstant:
      f.require("value");
      f.number("value", out.value, 0, kMostCores);
      break;
    case sim::Demand::Curve::kSteps:
      steps(f, out);
      break;
    case sim::Demand::Curve::kSine:
      f.require("mean");
      f.number("mean", out.mean, 0, kMostCores);
      f.number("amplitude", out.amplitude, 0, kMostCores);
      f.duration("offset", out.offset, 0ms, kLongest);
      out.period = 10min;
      f.duration("period", out.period, 1s, kLongest);
      break;
    case sim::Demand::Curve::kDay:
      f.require("high");
      f.number("low", out.low, 0, kMostCores);
      f.number("high", out.high, 0, kMostCores);
      out.period = 24h;
      f.duration("period", out.period, 1s, kLongest);
      out.peak_at = 14h;
      f.duration("peak_at", out.peak_at, 0ms, kLongest);
      if (out.low > out.high) f.refuse("low", "not more than high");
      break;
  }
  f.number("noise", out.noise, 0, kMostCores);
  f.duration("noise_hold", out.noise_hold, 100ms, kLongest);
  std::int64_t seed = 1;
  if (f.whole("seed", seed, 0, std::numeric_limits<std::int64_t>::max())) {
    out.seed = static_cast<std::uint64_t>(seed);
  }
  f.refuse_unknown();
}

/// A number (constant), or a table.
void ScenarioFields::demand(TomlFields& group, sim::Demand& out) {
  group.require("demand");
  const auto* node = group.node("demand");
  if (node == nullptr) return;
  if (const auto* table = node->as_table()) {
    curve(of(*table, group.path_of("demand")), out);
  } else {
    group.number("demand", out.value, 0, kMostCores);
  }
}

sim::PodGroup ScenarioFields::group(TomlFields f, const std::vector<sim::DiskSpec>& disks) {
  sim::PodGroup out;
  f.require("name");
  if (f.text("name", out.name, 1000) && !is_name(out.name)) {
    f.refuse("name", "1 to 40 of a-z, 0-9 and -");
  }
  int qos = 1;
  f.require("class");
  f.choice("class", qos, {"LSR", "LS", "BE"});
  out.qos = qos == 0 ? QosClass::kLsr : qos == 1 ? QosClass::kLs : QosClass::kBe;
  std::int64_t count = 1;
  f.whole("count", count, 0, 20'000);
  out.count = static_cast<int>(count);
  cores(f, "request", out.request);
  cores(f, "limit", out.limit);
  demand(f, out.demand);
  f.number("p99_ms", out.latency.base_ms, 0.001, 1e6);
  f.number("latency_growth", out.latency.growth, 0, 1e6);
  f.size("memory", out.memory.start.v, 0, kMostBytes);
  f.size("memory_growth", out.memory.growth_per_second.v, 0, kMostBytes);
  f.size("memory_limit", out.memory.limit.v, 0, kMostBytes);
  out.io = io(f, disks);
  f.refuse_unknown();
  return out;
}

std::vector<sim::PodGroup> ScenarioFields::groups(TomlFields& top,
                                                  const std::vector<sim::DiskSpec>& disks) {
  std::vector<sim::PodGroup> out;
  top.require("group");
  std::set<std::string> names;
  for (const auto* table : top.tables("group")) {
    auto fields = of(*table, fmt::format("group[{}]", out.size()));
    out.push_back(group(fields, disks));
    if (!names.insert(out.back().name).second)
      fields.refuse("name", "a name that no other group has");
  }
  return out;
}

std::vector<sim::Event> ScenarioFields::events(TomlFields& top,
                                               const std::vector<sim::PodGroup>& groups) {
  std::vector<sim::Event> out;
  for (const auto* table : top.tables("event")) {
    auto f = of(*table, fmt::format("event[{}]", out.size()));
    sim::Event e;
    f.require("at");
    f.duration("at", e.at, 0ms, kLongest);
    const bool named = f.text("group", e.group, 1000);
    const bool known =
        std::any_of(groups.begin(), groups.end(), [&](const auto& g) { return g.name == e.group; });
    if (named && !known) f.refuse("group", "the name of a group");
    f.optional_whole("count", e.count, 0, 20'000);
    std::int64_t growth = 0;
    if (f.size("memory_growth", growth, 0, kMostBytes)) e.growth_per_second = Bytes{growth};
    bool api = true;
    if (f.flag("api", api)) e.api = api;
    if ((e.count || e.growth_per_second) && !named) f.require("group");
    if (!f.has("count") && !f.has("memory_growth") && !f.has("api")) {
      f.refuse("at", "count, memory_growth or api beside it");
    }
    f.refuse_unknown();
    out.push_back(std::move(e));
  }
  std::stable_sort(
      out.begin(), out.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  return out;
}

std::vector<sim::Expectation> ScenarioFields::expectations(TomlFields& top) {
  std::vector<sim::Expectation> out;
  for (const auto* table : top.tables("expect")) {
    auto f = of(*table, fmt::format("expect[{}]", out.size()));
    sim::Expectation e;
    f.require("at");
    f.duration("at", e.at, 0ms, kLongest);
    int level = 0;
    if (f.choice("level", level, {"NONE", "MID", "HIGH"})) {
      e.level = static_cast<policy::Level>(level);
    }
    f.optional_whole("below_exit", e.below_exit, 0, 3600);
    f.optional_whole("factor_permille", e.factor_permille, 0, 1000);
    f.optional_number("use_percent", e.use_percent, 0, 100);
    f.optional_number("ls_used", e.ls_used, 0, kMostCores);
    f.optional_number("be_used", e.be_used, 0, kMostCores);
    f.optional_number("be_cap", e.be_cap, 0, kMostCores);
    f.optional_number("ls_p99_ms", e.ls_p99_ms, 0, 1e9);
    f.optional_number("be_slowdown_percent", e.be_slowdown_percent, 0, 1e6);
    f.optional_number("ls_read_p99_ms", e.ls_read_p99_ms, 0, 1e9);
    f.optional_number("be_disk_mib", e.be_disk_mib, 0, 1e9);
    f.optional_number("disk_busy_percent", e.disk_busy_percent, 0, 1e9);
    if (table->size() == 1 && f.has("at")) f.refuse("at", "what shall be then beside it");
    f.refuse_unknown();
    out.push_back(e);
  }
  return out;
}

sim::Limits ScenarioFields::limits(TomlFields& top) {
  sim::Limits out;
  const auto* table = top.table("limits");
  if (table == nullptr) return out;
  auto f = of(*table, "limits");
  f.duration("from", out.from, 0ms, kLongest);
  f.optional_number("max_flips_per_hour", out.max_flips_per_hour, 0, 1e6);
  f.optional_number("max_cuts_per_hour", out.max_cuts_per_hour, 0, 1e6);
  f.optional_number("max_percent_over_high", out.max_percent_over_high, 0, 100);
  f.optional_number("max_ls_p99_ms", out.max_ls_p99_ms, 0, 1e9);
  f.optional_number("min_mean_use_percent", out.min_mean_use_percent, 0, 100);
  f.optional_number("max_mean_use_percent", out.max_mean_use_percent, 0, 100);
  f.optional_number("min_mean_be_used", out.min_mean_be_used, 0, kMostCores);
  f.optional_number("max_memory_percent", out.max_memory_percent, 0, 100);
  milliseconds step{0};
  if (f.duration("max_step_to_cap", step, 0ms, kLongest)) out.max_step_to_cap = step;
  f.optional_number("max_ls_read_p99_ms", out.max_ls_read_p99_ms, 0, 1e9);
  f.optional_number("max_held_ls_read_p99_ms", out.max_held_ls_read_p99_ms, 0, 1e9);
  f.optional_number("min_held_be_disk_mib", out.min_held_be_disk_mib, 0, 1e9);
  if (f.duration("max_disk_step_to_cap", step, 0ms, kLongest)) out.max_disk_step_to_cap = step;
  f.optional_whole("evictions", out.evictions, 0, 100'000);
  f.optional_whole("max_refused_writes", out.max_refused_writes, 0, 1'000'000'000);
  f.refuse_unknown();
  return out;
}

std::optional<sim::Claims> ScenarioFields::claims(TomlFields& top) {
  const auto* table = top.table("claims");
  if (table == nullptr) return std::nullopt;
  auto f = of(*table, "claims");
  sim::Claims out;
  f.require("at");
  f.duration("at", out.at, 0ms, kLongest);
  f.text("by", out.by, 40);
  f.optional_number("ls_p99_ms", out.ls_p99_ms, 0, 1e9);
  f.optional_number("be_slowdown_percent", out.be_slowdown_percent, 0, 1e6);
  f.optional_number("use_percent", out.use_percent, 0, 100);
  f.refuse_unknown();
  return out;
}

}  // namespace koordlet::app
