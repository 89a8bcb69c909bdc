#include "modules/status_api/series.hpp"

#include <algorithm>

#include <prometheus/text_serializer.h>

namespace koordlet::status_api {

namespace {

bool is_valid_name(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), letter);
}

prometheus::Family<prometheus::Gauge>& add_family(prometheus::Registry& registry,
                                                  const std::string& name,
                                                  const std::string& help,
                                                  prometheus::Gauge*) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

prometheus::Family<prometheus::Counter>& add_family(prometheus::Registry& registry,
                                                    const std::string& name,
                                                    const std::string& help,
                                                    prometheus::Counter*) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

}  // namespace

void SeriesSet::begin(const std::string& node) {
  ++round_;
  node_ = node;
}

template <class T>
SeriesSet::Series<T>* SeriesSet::series(Families<T>& families,
                                        std::string_view name,
                                        std::string_view help,
                                        const prometheus::Labels& labels) {
  auto at = families.find(name);
  if (at == families.end()) {
    at = families.emplace(std::string{name}, Family<T>{}).first;
    at->second.family = &add_family(
        registry_, "koordlet_" + std::string{name}, std::string{help}, static_cast<T*>(nullptr));
  }
  auto full = labels;
  if (!node_.empty()) full.emplace("node", node_);
  auto& out = at->second.series[full];
  if (out.seen == round_) return nullptr;
  if (out.metric == nullptr) out.metric = &at->second.family->Add(full);
  out.seen = round_;
  return &out;
}

void SeriesSet::gauge(std::string_view name,
                      std::string_view help,
                      std::optional<double> value,
                      const prometheus::Labels& labels) {
  if (!value || !is_valid_name(name) || counters_.contains(name)) return;
  if (auto* at = series(gauges_, name, help, labels)) at->metric->Set(*value);
}

void SeriesSet::counter(std::string_view name,
                        std::string_view help,
                        double value,
                        const prometheus::Labels& labels) {
  if (!is_valid_name(name) || gauges_.contains(name)) return;
  auto* at = series(counters_, name, help, labels);
  if (at == nullptr) return;
  if (value < at->metric->Value()) {
    auto* family = counters_.find(name)->second.family;
    auto full = labels;
    if (!node_.empty()) full.emplace("node", node_);
    family->Remove(at->metric);
    at->metric = &family->Add(full);
  }
  at->metric->Increment(value - at->metric->Value());
}

template <class T>
void SeriesSet::sweep(Families<T>& families) {
  for (auto family = families.begin(); family != families.end();) {
    auto& all = family->second.series;
    for (auto at = all.begin(); at != all.end();) {
      if (at->second.seen == round_) {
        ++at;
        continue;
      }
      family->second.family->Remove(at->second.metric);
      at = all.erase(at);
    }
    // A family without series would still print its HELP and TYPE.
    if (all.empty()) {
      registry_.Remove(*family->second.family);
      family = families.erase(family);
    } else {
      ++family;
    }
  }
}

void SeriesSet::end() {
  sweep(gauges_);
  sweep(counters_);
}

void SeriesSet::write(std::ostream& out) const {
  const prometheus::TextSerializer serializer;
  for (const auto& [name, family] : gauges_) serializer.Serialize(out, family.family->Collect());
  for (const auto& [name, family] : counters_) serializer.Serialize(out, family.family->Collect());
}

}  // namespace koordlet::status_api
