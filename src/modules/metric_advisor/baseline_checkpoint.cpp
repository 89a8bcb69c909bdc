#include "modules/metric_advisor/baseline_checkpoint.hpp"

#include <cmath>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

namespace koordlet {
namespace {

namespace json = boost::json;

constexpr std::int64_t kVersion = 1;

json::array to_json(const policy::Baseline& b) {
  return {b.weight, b.mean, b.m2, b.samples, b.day};
}

Error bad(std::string_view what) {
  return {Errc::kParse, fmt::format("baselines: expected {}", what)};
}

std::optional<double> real(const json::value& v) {
  if (!v.is_number()) return std::nullopt;
  const auto d = v.to_number<double>();
  if (!std::isfinite(d) || d < 0) return std::nullopt;
  return d;
}

std::optional<std::int64_t> whole(const json::value& v) {
  if (!v.is_int64() || v.get_int64() < 0) return std::nullopt;
  return v.get_int64();
}

std::optional<policy::Baseline> baseline(const json::value* v) {
  const auto* a = v == nullptr ? nullptr : v->if_array();
  if (a == nullptr || a->size() != 5) return std::nullopt;
  const auto weight = real(a->at(0)), mean = real(a->at(1)), m2 = real(a->at(2));
  const auto samples = whole(a->at(3)), day = whole(a->at(4));
  if (!weight || !mean || !m2 || !samples || !day) return std::nullopt;
  return policy::Baseline{*weight, *mean, *m2, static_cast<std::uint64_t>(*samples), *day};
}

std::optional<std::string> text(const json::object& o, std::string_view key, bool may_be_empty) {
  const auto* v = o.if_contains(key);
  if (v == nullptr || !v->is_string()) return std::nullopt;
  std::string out{v->get_string().data(), v->get_string().size()};
  if (out.empty() && !may_be_empty) return std::nullopt;
  return out;
}

}  // namespace

std::string encode_baselines(const policy::BaselineTable& table) {
  json::array rows;
  for (const auto& [key, b] : table) {
    rows.emplace_back(json::object{{"owner", key.owner_uid},
                                   {"container", key.container},
                                   {"cpu", key.cpu_model},
                                   {"cpi", to_json(b.cpi)},
                                   {"llc", to_json(b.llc)}});
  }
  return json::serialize(json::object{{"version", kVersion}, {"baselines", std::move(rows)}});
}

Result<policy::BaselineTable> parse_baselines(std::string_view bytes) {
  boost::system::error_code ec;
  const auto root = json::parse({bytes.data(), bytes.size()}, ec);
  const auto* object = ec ? nullptr : root.if_object();
  if (object == nullptr) return bad("a JSON object");
  const auto* version = object->if_contains("version");
  if (version == nullptr || whole(*version) != kVersion)
    return bad(fmt::format("version {}", kVersion));
  const auto* rows = object->if_contains("baselines");
  if (rows == nullptr || !rows->is_array()) return bad("a list baselines");
  policy::BaselineTable out;
  for (const auto& row : rows->get_array()) {
    const auto* o = row.if_object();
    if (o == nullptr) return bad("an object a workload");
    const auto owner = text(*o, "owner", false), container = text(*o, "container", false);
    const auto cpu = text(*o, "cpu", true);
    const auto cpi = baseline(o->if_contains("cpi")), llc = baseline(o->if_contains("llc"));
    if (!owner || !container || !cpu) return bad("owner, container and cpu of a workload");
    if (!cpi || !llc) return bad("five numbers of 0 or more for cpi and for llc");
    out[{*owner, *container, *cpu}] = {*cpi, *llc};
  }
  return out;
}

}  // namespace koordlet
