#include <algorithm>
#include <set>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "app/scenario_parts.hpp"
#include "k8s/manifest.hpp"

/// Disks of a scenario, who uses them, and the NodeSLO that limits it.
namespace koordlet::app {
namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

constexpr std::int64_t kMostRate = std::int64_t{1} << 50;
constexpr double kMostOps = 1e9;

void rate(TomlFields& f, std::string_view key, double& out) {
  std::int64_t bytes = 0;
  if (f.size(key, bytes, 0, kMostRate)) out = static_cast<double>(bytes);
}

bool is_disk_name(const std::string& text) {
  return !text.empty() && text.size() <= 40 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

sim::DiskSpec disk(TomlFields f, std::size_t index) {
  sim::DiskSpec out;
  f.require("name");
  if (f.text("name", out.name, 1000) && !is_disk_name(out.name)) {
    f.refuse("name", "1 to 40 of a-z, 0-9 and -");
  }
  out.number = fmt::format("253:{}", 16 * index);
  if (f.text("number", out.number, 40) && !is_item_of(CgroupFile::kIoMax, out.number)) {
    f.refuse("number", "MAJOR:MINOR");
  }
  std::int64_t bytes = 0;
  if (f.size("bps", bytes, 1, kMostRate)) out.bytes_per_second = static_cast<double>(bytes);
  f.number("iops", out.ops_per_second, 1, kMostOps);
  std::int64_t queue = out.queue;
  if (f.whole("queue", queue, 1, 65'536)) out.queue = static_cast<int>(queue);
  f.refuse_unknown();
  return out;
}

/// What JSON has no type for (dates and times) becomes null, which the decoder takes for absent.
json::value as_json(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    json::object out;
    for (const auto& [key, value] : *table) out[std::string_view{key.str()}] = as_json(value);
    return out;
  }
  if (const auto* list = node.as_array()) {
    json::array out;
    for (const auto& value : *list) out.push_back(as_json(value));
    return out;
  }
  if (const auto* text = node.as_string()) return json::string{text->get()};
  if (const auto* n = node.as_integer()) return n->get();
  if (const auto* n = node.as_floating_point()) return n->get();
  if (const auto* flag = node.as_boolean()) return flag->get();
  return nullptr;
}

}  // namespace

std::vector<sim::DiskSpec> ScenarioFields::disks(TomlFields& top) {
  std::vector<sim::DiskSpec> out;
  std::set<std::string> names, numbers;
  for (const auto* table : top.tables("disk")) {
    auto f = of(*table, fmt::format("disk[{}]", out.size()));
    out.push_back(disk(f, out.size()));
    if (!names.insert(out.back().name).second) f.refuse("name", "a name that no other disk has");
    if (!numbers.insert(out.back().number).second) {
      f.refuse("number", "a number that no other disk has");
    }
  }
  if (out.size() > 64) top.refuse("disk", "at most 64 disks");
  return out;
}

std::optional<sim::IoUse> ScenarioFields::io(TomlFields& group,
                                             const std::vector<sim::DiskSpec>& disks) {
  const auto* table = group.table("io");
  if (table == nullptr) return std::nullopt;
  auto f = of(*table, group.path_of("io"));
  sim::IoUse out;
  std::string name;
  f.require("disk");
  if (f.text("disk", name, 1000)) {
    const auto found = std::find_if(
        disks.begin(), disks.end(), [&](const sim::DiskSpec& d) { return d.name == name; });
    if (found == disks.end()) {
      f.refuse("disk", "the name of a disk");
    } else {
      out.disk = static_cast<std::size_t>(found - disks.begin());
    }
  }
  rate(f, "read_bps", out.load.read_bytes);
  rate(f, "write_bps", out.load.write_bytes);
  f.number("read_iops", out.load.reads, 0, kMostOps);
  f.number("write_iops", out.load.writes, 0, kMostOps);
  const auto half = [](double bytes, double ops) { return (bytes > 0) != (ops > 0); };
  if (half(out.load.read_bytes, out.load.reads)) f.refuse("read_bps", "read_iops beside it");
  if (half(out.load.write_bytes, out.load.writes)) f.refuse("write_bps", "write_iops beside it");
  f.number("read_p99_ms", out.read_p99_ms, 0.001, 1e6);
  f.refuse_unknown();
  return out;
}

std::optional<sim::TimedSlo> ScenarioFields::node_slo(TomlFields& top) {
  const auto* table = top.table("node_slo");
  if (table == nullptr) return std::nullopt;
  auto f = of(*table, "node_slo");
  sim::TimedSlo out;
  f.duration("from", out.from, 0ms, 7 * 24h);
  f.require("spec");
  const auto* spec = f.table("spec");
  f.refuse_unknown();
  if (spec == nullptr) return out;
  json::object object;
  object["metadata"] = json::object{{"name", "simulated"}};
  object["spec"] = as_json(*spec);
  auto decoded = k8s::decode_node_slo(object);
  if (!decoded) {
    f.refuse("spec", decoded.error().context);
    return out;
  }
  // "nodeslo simulated: FIELD: VALUE: expected ..."
  for (const auto& fault : decoded->faults) {
    const auto colon = fault.find(": ");
    f.refuse("spec", "a NodeSLO: " + fault.substr(colon == std::string::npos ? 0 : colon + 2));
  }
  out.slo = std::move(decoded->slo);
  return out;
}

}  // namespace koordlet::app
