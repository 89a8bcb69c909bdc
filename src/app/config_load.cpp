#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "app/setting.hpp"
#include "kernel/fd.hpp"

namespace koordlet::app {
namespace {

constexpr std::size_t kMaxConfigBytes = 1 << 20;
constexpr int kNodeStaleIntervals = 3;

/// Where the value of a key came from; absent: built-in.
struct Origin {
  bool command_line = false;
  int line = 0;
};
using Origins = std::map<std::string, Origin>;

std::string quoted(std::string_view text) { return fmt::format("\"{}\"", printable(text)); }

void apply_toml(TomlReading toml, ConfigReading& out, Origins& origins) {
  const std::string& name = out.loaded.file;
  out.faults = std::move(toml.faults);
  for (const auto& entry : toml.entries) {
    const Setting& s = *find_setting(entry.key);
    const auto value = convert(s, entry.value);
    if (!value) {
      out.faults.push_back({name, entry.line, entry.key, entry.value.shown, value.error().context});
      continue;
    }
    s.set(out.loaded.config, *value);
    origins[entry.key] = {false, entry.line};
  }
  std::stable_sort(out.faults.begin(), out.faults.end(), [](const auto& a, const auto& b) {
    return a.line < b.line;
  });
}

void apply_overrides(const Overrides& overrides, ConfigReading& out, Origins& origins) {
  for (const auto& [key, text] : overrides) {
    const Setting* s = find_setting(key);
    if (s == nullptr) {
      out.faults.push_back({"", 0, printable(key), quoted(text), "expected a known key"});
      continue;
    }
    const auto value = convert_text(*s, text);
    if (!value) {
      out.faults.push_back({"", 0, key, quoted(text), value.error().context});
      continue;
    }
    s->set(out.loaded.config, *value);
    origins[key] = {true, 0};
  }
}

/// A longer tick needs a longer patience: signals of one missed tick are not stale yet.
void derive(Config& config) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(config.qos.interval).count();
  int& stale = config.qos.policy.node_stale_seconds;
  stale = std::max(stale, static_cast<int>(seconds) * kNodeStaleIntervals);
}

/// The rule is about `key`, or compares with it.
bool speaks_of(const ConfigFault& fault, const std::string& key) {
  return fault.key == key || fault.expected.find(key) != std::string::npos;
}

/// Where the value came from that breaks a rule: its own key's, else that of the key it is compared
/// with.
const Origin* origin_of(const ConfigFault& fault, const Origins& origins) {
  if (const auto own = origins.find(fault.key); own != origins.end()) return &own->second;
  for (const auto& [key, origin] : origins) {
    if (speaks_of(fault, key)) return &origin;
  }
  return nullptr;
}

ConfigReading finish(ConfigReading out, const Overrides& overrides, Origins origins) {
  apply_overrides(overrides, out, origins);
  Config& config = out.loaded.config;
  derive(config);
  const auto refused = out.faults;
  for (auto& fault : cross_check(config)) {
    // A rule that sees the default in place of a refused value says nothing new.
    const bool follows = std::any_of(refused.begin(), refused.end(), [&](const ConfigFault& r) {
      return find_setting(r.key) != nullptr && speaks_of(fault, r.key);
    });
    if (follows) continue;
    const Origin* origin = origin_of(fault, origins);
    if (origin == nullptr || !origin->command_line) fault.file = out.loaded.file;
    if (origin != nullptr) fault.line = origin->line;
    out.faults.push_back(std::move(fault));
  }
  for (const auto& s : settings()) {
    const auto origin = origins.find(s.key);
    const char* source = origin == origins.end()       ? "built-in"
                         : origin->second.command_line ? "command line"
                                                       : "toml";
    out.loaded.values.push_back({s.key, format_value(s, s.get(config)), source});
  }
  return out;
}

}  // namespace

std::string to_string(const ConfigFault& fault) {
  std::string out = fault.file.empty() ? "command line" : fault.file;
  if (fault.line > 0) out += fmt::format(":{}", fault.line);
  for (const std::string* part : {&fault.key, &fault.value, &fault.expected}) {
    if (!part->empty()) out += fmt::format(": {}", *part);
  }
  return out;
}

store::LmdbEnv::Options state_env_options(const Config& config) {
  store::LmdbEnv::Options out;
  out.folder = config.store.folder + "/state";
  out.map_size = config.store.state_map_size;
  return out;
}

MetricCache::Config metric_cache_config(const Config& config) {
  MetricCache::Config out = config.store.metrics;
  out.folder = config.store.folder + "/metrics";
  return out;
}

FlightRecorder::Config recorder_config(const Config& config) {
  FlightRecorder::Config out = config.recorder;
  out.folder = config.store.folder + "/recorder";
  return out;
}

PredictServer::Config predict_config(const Config& config) {
  PredictServer::Config out = config.predict;
  out.pod_usage_valid =
      config.collect.collect_interval * config.qos.policy.pods_stale_intervals_tenths / 10;
  return out;
}

ConfigReading load_config_text(const std::string& text,
                               const std::string& name,
                               const Overrides& overrides) {
  return load_config_entries(read_toml(text, name), name, overrides);
}

ConfigReading load_config_entries(TomlReading entries,
                                  const std::string& name,
                                  const Overrides& overrides) {
  ConfigReading out;
  Origins origins;
  out.loaded.file = name;
  apply_toml(std::move(entries), out, origins);
  return finish(std::move(out), overrides, std::move(origins));
}

ConfigReading load_config(const std::string& file, const Overrides& overrides) {
  if (file.empty()) return finish({}, overrides, {});
  const auto text = kernel::read_file(file, kMaxConfigBytes);
  if (text) return load_config_text(*text, file, overrides);
  ConfigReading out;
  out.loaded.file = file;
  std::string why = text.error().context;
  if (why.starts_with(file + ": ")) why.erase(0, file.size() + 2);
  out.faults.push_back({file, 0, "", why, "expected a readable file of at most 1 MiB"});
  return finish(std::move(out), overrides, {});
}

}  // namespace koordlet::app
