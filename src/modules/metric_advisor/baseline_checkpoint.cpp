#include "modules/metric_advisor/baseline_checkpoint.hpp"

#include <cmath>
#include <optional>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "base/parse.hpp"

namespace koordlet {
namespace {

namespace json = boost::json;
using policy::Baseline;
using policy::BaselineKey;
using policy::MicroBaseline;

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMostBytes = 16u << 20;
constexpr std::size_t kMostNameBytes = 1024;
constexpr std::int64_t kMostDay = 4'000'000;  // beyond the year 10000: no clock says so

bool is_amount(double v) { return std::isfinite(v) && v >= 0; }

/// What learn() can have left behind: a sample weighs 1 when it comes, and only less later.
bool is_learned(const Baseline& b) {
  if (b.samples == 0) return b == Baseline{};
  return is_amount(b.mean) && is_amount(b.m2) && b.weight >= 1 &&
         b.weight <= static_cast<double>(b.samples) && b.day >= 0 && b.day <= kMostDay;
}

bool is_name(std::string_view text) { return !text.empty() && text.size() <= kMostNameBytes; }

bool is_learned(const BaselineKey& key, const MicroBaseline& value) {
  return is_name(key.owner_uid) && is_name(key.container) &&
         key.cpu_model.size() <= kMostNameBytes && value.cpi.samples > 0 &&
         value.llc.samples <= value.cpi.samples && is_learned(value.cpi) && is_learned(value.llc);
}

/// Real numbers stand as text: the JSON parser may lose their last digit, and a baseline is to come
/// back as it was.
json::object encode(const Baseline& b) {
  return {{"weight", fmt::format("{}", b.weight)},
          {"mean", fmt::format("{}", b.mean)},
          {"m2", fmt::format("{}", b.m2)},
          {"samples", b.samples},
          {"day", b.day}};
}

std::optional<double> real_of(const json::object& from, std::string_view key) {
  const auto* v = from.if_contains(key);
  if (v == nullptr || !v->is_string()) return std::nullopt;
  const auto out = parse_real(v->get_string());
  return out ? std::optional{*out} : std::nullopt;
}

/// Whole and not negative; the library keeps a number below 2^63 as signed.
std::optional<std::int64_t> count_of(const json::object& from, std::string_view key) {
  const auto* v = from.if_contains(key);
  if (v == nullptr || !v->is_int64() || v->get_int64() < 0) return std::nullopt;
  return v->get_int64();
}

std::optional<std::string> text_of(const json::object& from, std::string_view key) {
  const auto* v = from.if_contains(key);
  if (v == nullptr || !v->is_string()) return std::nullopt;
  return std::string{v->get_string()};
}

std::optional<Baseline> baseline_of(const json::object& from, std::string_view key) {
  const auto* v = from.if_contains(key);
  if (v == nullptr || !v->is_object() || v->get_object().size() != 5) return std::nullopt;
  const auto& fields = v->get_object();
  const auto weight = real_of(fields, "weight"), mean = real_of(fields, "mean");
  const auto m2 = real_of(fields, "m2");
  const auto samples = count_of(fields, "samples"), day = count_of(fields, "day");
  if (!weight || !mean || !m2 || !samples || !day) return std::nullopt;
  return Baseline{*weight, *mean, *m2, static_cast<std::uint64_t>(*samples), *day};
}

Error fault(std::string_view what) {
  return {Errc::kParse, fmt::format("cpi baselines: {}", what)};
}

Result<void> add_entry(const json::value& from, std::size_t index, policy::BaselineTable& to) {
  const auto refuse = [&](std::string_view what) {
    return fault(fmt::format("entry {}: {}", index, what));
  };
  if (!from.is_object() || from.get_object().size() != 5)
    return refuse("expected an object of owner, container, cpu_model, cpi and llc");
  const auto& fields = from.get_object();
  auto owner = text_of(fields, "owner"), container = text_of(fields, "container");
  auto model = text_of(fields, "cpu_model");
  if (!owner || !container || !model) return refuse("expected owner, container and cpu_model");
  const auto cpi = baseline_of(fields, "cpi"), llc = baseline_of(fields, "llc");
  if (!cpi || !llc) return refuse("expected cpi and llc with weight, mean, m2, samples and day");
  BaselineKey key{std::move(*owner), std::move(*container), std::move(*model)};
  const MicroBaseline value{*cpi, *llc};
  if (!is_learned(key, value)) return refuse("expected names, and numbers as learning makes them");
  if (!to.emplace(std::move(key), value).second) return refuse("it is there twice");
  return {};
}

}  // namespace

std::string encode_baselines(const policy::BaselineTable& table) {
  json::array entries;
  for (const auto& [key, value] : table) {
    if (!is_learned(key, value)) continue;
    entries.push_back(json::object{{"owner", key.owner_uid},
                                   {"container", key.container},
                                   {"cpu_model", key.cpu_model},
                                   {"cpi", encode(value.cpi)},
                                   {"llc", encode(value.llc)}});
  }
  return json::serialize(json::object{{"version", kVersion}, {"baselines", std::move(entries)}});
}

Result<policy::BaselineTable> parse_baselines(std::string_view text) {
  if (text.size() > kMostBytes)
    return fault(fmt::format("{} bytes: expected at most {}", text.size(), kMostBytes));
  boost::system::error_code ec;
  const auto document = json::parse(json::string_view{text.data(), text.size()}, ec);
  if (ec) return fault(fmt::format("expected JSON: {}", ec.message()));
  if (!document.is_object() || document.get_object().size() != 2)
    return fault("expected an object of version and baselines");
  const auto& fields = document.get_object();
  const auto version = count_of(fields, "version");
  if (version != kVersion) return fault(fmt::format("expected version {}", kVersion));
  const auto* entries = fields.if_contains("baselines");
  if (entries == nullptr || !entries->is_array()) return fault("expected a list of baselines");
  policy::BaselineTable out;
  std::size_t index = 0;
  for (const auto& entry : entries->get_array()) {
    if (const auto added = add_entry(entry, index++, out); !added) return added.error();
  }
  return out;
}

}  // namespace koordlet
