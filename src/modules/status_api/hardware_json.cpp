#include "modules/status_api/hardware_json.hpp"

#include <boost/json/array.hpp>

namespace koordlet::status_api {
namespace {

json::value flag(std::optional<bool> value) {
  return value ? json::value(*value) : json::value(nullptr);
}

std::string_view type_of(kernel::CacheType type) {
  switch (type) {
    case kernel::CacheType::kData:
      return "data";
    case kernel::CacheType::kInstruction:
      return "instruction";
    case kernel::CacheType::kUnified:
      break;
  }
  return "unified";
}

}  // namespace

json::value hardware_json(const StatusView& view) {
  if (view.hardware == nullptr) return nullptr;
  const auto& h = *view.hardware;
  json::array caches;
  for (const auto& c : h.caches) {
    caches.push_back(json::object{{"level", c.level},
                                  {"type", type_of(c.type)},
                                  {"size_bytes", c.size.v},
                                  {"cpus", text_or_null(c.cpus.to_string())},
                                  {"id", c.id ? json::value(*c.id) : json::value(nullptr)}});
  }
  return json::object{{"cpu_model", h.cpu ? text_or_null(h.cpu->name) : nullptr},
                      {"cpu_vendor", h.cpu ? text_or_null(h.cpu->vendor) : nullptr},
                      {"turbo", h.cpu ? flag(h.cpu->turbo) : nullptr},
                      {"smt", flag(h.smt)},
                      {"caches", std::move(caches)}};
}

}  // namespace koordlet::status_api
