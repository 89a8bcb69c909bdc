#include <fmt/format.h>

#include "app/setting.hpp"
#include "k8s/names.hpp"

namespace koordlet::app {
namespace {

constexpr std::chrono::seconds kLeastReportInterval{10};

/// As it stands in a file: texts, durations and sizes in quotes.
std::string literal(const Config& config, std::string_view key) {
  const Setting& s = *find_setting(key);
  return printable(toml_literal(s, s.get(config)));
}

std::string shown(const Config& config, std::string_view key) {
  const Setting& s = *find_setting(key);
  return format_value(s, s.get(config));
}

std::int64_t number_of(const Config& config, std::string_view key) {
  return std::get<std::int64_t>(find_setting(key)->get(config));
}

/// policy::validate speaks in "path: value: expected".
ConfigFault split(const std::string& text) {
  ConfigFault out;
  const auto key_end = text.find(": ");
  if (key_end == std::string::npos) {
    out.expected = text;
    return out;
  }
  out.key = text.substr(0, key_end);
  const auto value_end = text.find(": ", key_end + 2);
  if (value_end == std::string::npos) {
    out.expected = text.substr(key_end + 2);
    return out;
  }
  out.value = text.substr(key_end + 2, value_end - key_end - 2);
  out.expected = text.substr(value_end + 2);
  return out;
}

}  // namespace

std::vector<ConfigFault> cross_check(const Config& config) {
  std::vector<ConfigFault> out;
  const auto refuse = [&](std::string key, std::string expectation) {
    std::string value = literal(config, key);
    out.push_back({"", 0, std::move(key), std::move(value), "expected " + std::move(expectation)});
  };
  if (config.qos.fast_poll > config.qos.interval) {
    refuse("qos.fast_poll",
           fmt::format("at most qos.interval ({})", shown(config, "qos.interval")));
  }
  const auto refuse_hooks = [&](const char* key, runtime::NriOptions options) {
    if (runtime::check(options).has_error()) refuse(key, find_setting(key)->about);
  };
  runtime::NriOptions name, index, socket;
  name.name = config.hooks.connection.name;
  index.index = config.hooks.connection.index;
  socket.socket = config.hooks.connection.socket;
  refuse_hooks("hooks.name", name);
  refuse_hooks("hooks.index", index);
  refuse_hooks("hooks.socket", socket);
  if (config.executor.retry_max < config.executor.retry_first) {
    refuse(
        "executor.retry_max",
        fmt::format("at least executor.retry_first ({})", shown(config, "executor.retry_first")));
  }
  if (config.store.metrics.retention < config.store.metrics.ttl) {
    refuse("store.retention",
           fmt::format("at least store.metric_cache_ttl ({})",
                       shown(config, "store.metric_cache_ttl")));
  }
  if (config.predict.window % std::chrono::seconds{300} != std::chrono::seconds{0}) {
    refuse("predict.window", "a multiple of 5m");
  }
  if (config.report.interval.count() > 0 && config.report.interval < kLeastReportInterval) {
    refuse("report.interval", "0s, or at least 10s");
  }
  if (config.states.informer.source == StatesSource::kKubelet && config.kubelet.url.empty()) {
    refuse("kubelet.url", "kubelet's address, as states.source is \"kubelet\"");
  }
  if (config.kubelet.cert_file.empty() != config.kubelet.key_file.empty()) {
    refuse("kubelet.key_file", "a key exactly when there is a kubelet.cert_file");
  }
  const auto& status = config.status;
  if (!status.listen.empty() && status.listen == status.metrics_listen &&
      !status.listen.ends_with(":0")) {
    refuse("metrics.listen", "another address than status.listen");
  }
  for (const std::string ramp : {"wait_ratio_permille",
                                 "wait_p95_ms",
                                 "cpu_full_percent",
                                 "cpu_some_percent",
                                 "memory_full_percent",
                                 "memory_some_percent",
                                 "io_full_percent",
                                 "io_some_percent",
                                 "cpi_z_tenths"}) {
    const auto lo = "interference." + ramp + "_lo", hi = "interference." + ramp + "_hi";
    if (number_of(config, lo) >= number_of(config, hi))
      refuse(hi, fmt::format("more than {} ({})", lo, shown(config, lo)));
  }
  const auto& rules = config.interference.rules;
  if (rules.clear_degree > rules.enter_degree) {
    refuse("interference.clear_degree",
           fmt::format("at most interference.enter_degree ({})", rules.enter_degree));
  }
  if (config.interference.perf_window > config.interference.perf_interval) {
    refuse("interference.perf_window",
           fmt::format("at most interference.perf_interval ({})",
                       shown(config, "interference.perf_interval")));
  }
  for (const auto& ns : config.qos.policy.hands_off_namespaces) {
    if (k8s::is_dns_label(ns)) continue;
    refuse("qos.hands_off_namespaces",
           fmt::format("names of namespaces (a-z, 0-9 and '-', at most 63), '{}' is none",
                       printable(ns)));
  }
  for (const auto& text : policy::validate(config.qos.policy)) out.push_back(split(text));
  return out;
}

}  // namespace koordlet::app
