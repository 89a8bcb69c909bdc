#include "app/scenario_file.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "app/scenario_parts.hpp"
#include "app/setting.hpp"
#include "app/toml_document.hpp"
#include "kernel/fd.hpp"

namespace koordlet::app {
namespace {

using namespace std::chrono_literals;
using sim::milliseconds;
using sim::Scenario;

constexpr std::size_t kMostBytes = 1 << 20;
constexpr int kMostPods = 20'000;
/// About ten minutes of computing.
constexpr std::int64_t kMostPodSteps = 300'000'000;
/// Sections of the daemon's own configuration that a scenario may have.
constexpr std::string_view kDaemonSections[] = {"qos", "collect", "executor"};

void read_node(TomlFields& top, Scenario& out, ScenarioFields& shared) {
  const auto* table = top.table("node");
  if (table == nullptr) {
    top.require("node");
    return;
  }
  auto f = shared.of(*table, "node");
  std::int64_t cpus = 0;
  f.require("cpu");
  if (f.whole("cpu", cpus, 1, CpuSet::kMaxCpus)) out.node.cpus = static_cast<int>(cpus);
  f.size("memory", out.node.memory.v, 1 << 20, std::int64_t{1} << 50);
  int version = 1;
  f.choice("cgroup", version, {"v1", "v2"});
  out.node.cgroup = version == 0 ? CgroupVersion::kV1 : CgroupVersion::kV2;
  f.number("system_cpu", out.node.system_cpu, 0, CpuSet::kMaxCpus);
  f.size("system_memory", out.node.system_memory.v, 0, std::int64_t{1} << 50);
  f.size("swap", out.node.swap.v, 0, std::int64_t{1} << 50);
  f.whole("be_root_shares", out.node.be_root_shares, 2, 262'144);
  f.duration("interval", out.sample_interval, 1s, 1min);
  f.refuse_unknown();
}

/// What one key alone cannot tell.
void check_whole(TomlFields& top, const Scenario& s, milliseconds tick) {
  if (s.koordlet_from >= s.duration) {
    top.refuse("koordlet_from", "less than duration");
  }
  if (s.sample_interval < tick || s.sample_interval % tick != milliseconds{0}) {
    top.refuse("node",
               fmt::format("an interval that is a multiple of qos.interval ({})",
                           format_duration_ms(tick.count())));
  }
  if (s.koordlet_from % tick != milliseconds{0} || s.duration % tick != milliseconds{0}) {
    top.refuse("duration",
               fmt::format("and koordlet_from in multiples of qos.interval ({})",
                           format_duration_ms(tick.count())));
  }
  if (s.limits.from >= s.duration) top.refuse("limits", "from below duration");
  std::int64_t pods = 0;
  for (const auto& g : s.groups) {
    int most = g.count;
    for (const auto& e : s.events) {
      if (e.group == g.name) most = std::max(most, e.count.value_or(0));
    }
    pods += most;
  }
  if (pods > kMostPods) top.refuse("group", fmt::format("at most {} pods", kMostPods));
  if (pods * (s.duration / tick) > kMostPodSteps) {
    top.refuse("duration", fmt::format("at most {} pods x steps", kMostPodSteps));
  }
}

/// Moments have to be ends of steps, or nothing would ever be looked at.
void check_moments(TomlFields& top, const Scenario& s, milliseconds tick) {
  const auto off = [&](milliseconds at) {
    return at > s.duration || at.count() <= 0 || at % tick != milliseconds{0};
  };
  const auto want = fmt::format("at within duration, in multiples of qos.interval ({})",
                                format_duration_ms(tick.count()));
  for (const auto& e : s.expectations) {
    if (off(e.at)) top.refuse("expect", fmt::format("{}; got {}", want, sim::time_text(e.at)));
  }
  if (s.claims && off(s.claims->at)) top.refuse("claims", want);
  for (const auto& e : s.events) {
    if (e.at >= s.duration)
      top.refuse("event", fmt::format("at below duration; got {}", sim::time_text(e.at)));
  }
}

/// Keys that no simulation looks at say nothing here: who gives one expects it to.
void refuse_others(const Overrides& overrides, std::vector<ConfigFault>& faults) {
  for (const auto& [key, text] : overrides) {
    const auto section = key.substr(0, key.find('.'));
    if (find_setting(key) == nullptr) continue;  // named already
    if (std::find(std::begin(kDaemonSections), std::end(kDaemonSections), section) !=
        std::end(kDaemonSections))
      continue;
    faults.push_back({"",
                      0,
                      key,
                      "\"" + printable(text) + "\"",
                      "expected a key of [qos], [collect] or [executor]: a simulation looks at no "
                      "other"});
  }
}

TomlReading daemon_entries(TomlFields& top, const std::string& name) {
  TomlReading out;
  for (const auto section : kDaemonSections) {
    if (const auto* t = top.table(section)) read_settings(*t, std::string{section}, name, out);
  }
  return out;
}

}  // namespace

ScenarioReading load_scenario_text(const std::string& text,
                                   const std::string& name,
                                   const Overrides& overrides) {
  ScenarioReading out;
  auto document = parse_toml(text, name);
  out.faults = std::move(document.faults);
  const bool whole = out.faults.empty();
  ScenarioFields shared{name, out.faults};
  TomlFields top = shared.of(document.root, "");
  Scenario& s = out.scenario;

  auto settings = load_config_entries(daemon_entries(top, name), name, overrides);
  out.config = std::move(settings.loaded.config);
  refuse_others(overrides, settings.faults);
  const auto tick = out.config.qos.interval;
  s.sample_interval = tick;

  top.text("about", s.about, 1000);
  top.require("duration");
  top.duration("duration", s.duration, 1s, 7 * 24h);
  top.duration("koordlet_from", s.koordlet_from, 0ms, 7 * 24h);
  top.duration("table_every", s.table_every, 1s, 7 * 24h);
  top.duration("evict_grace", s.evict_grace, 0ms, 1h);
  read_node(top, s, shared);
  s.disks = shared.disks(top);
  s.node_slo = shared.node_slo(top);
  s.groups = shared.groups(top, s.disks);
  s.events = shared.events(top, s.groups);
  s.expectations = shared.expectations(top);
  s.limits = shared.limits(top);
  s.claims = shared.claims(top);
  top.refuse_unknown();
  const bool settings_good = settings.faults.empty();
  out.faults.insert(out.faults.end(), settings.faults.begin(), settings.faults.end());
  // Rules over several keys say nothing new while single ones are wrong.
  if (whole && settings_good && out.faults.empty()) {
    check_whole(top, s, tick);
    check_moments(top, s, tick);
  }
  std::stable_sort(out.faults.begin(), out.faults.end(), [](const auto& a, const auto& b) {
    return a.line < b.line;
  });
  return out;
}

ScenarioReading load_scenario(const std::string& file, const Overrides& overrides) {
  const auto text = kernel::read_file(file, kMostBytes);
  if (text) return load_scenario_text(*text, file, overrides);
  ScenarioReading out;
  std::string why = text.error().context;
  if (why.starts_with(file + ": ")) why.erase(0, file.size() + 2);
  out.faults.push_back({file, 0, "", why, "expected a readable file of at most 1 MiB"});
  return out;
}

}  // namespace koordlet::app
