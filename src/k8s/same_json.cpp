#include "k8s/same_json.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/cpu_set.hpp"
#include "k8s/fields.hpp"
#include "k8s/quantity.hpp"

namespace koordlet::k8s {
namespace {

/// Text with one spelling for one meaning.
std::string canonical(const json::value& value, std::string_view key) {
  if (const auto* object = value.if_object()) {
    std::vector<std::string> members;
    for (const auto& member : *object) {
      members.push_back(json::serialize(json::value(member.key())) + ":" +
                        canonical(member.value(), member.key()));
    }
    std::sort(members.begin(), members.end());
    std::string out = "{";
    for (const auto& m : members) out += m + ",";
    return out + "}";
  }
  if (const auto* array = value.if_array()) {
    std::vector<std::string> items;
    for (const auto& item : *array) items.push_back(canonical(item, ""));
    std::sort(items.begin(), items.end());
    std::string out = "[";
    for (const auto& i : items) out += i + ",";
    return out + "]";
  }
  if (key == "cpuset" || key == "reservedCPUs") {
    if (value.is_string()) {
      if (const auto cpus = CpuSet::parse(value.get_string())) return "cpus " + cpus->to_string();
    }
  } else if (key == "capacity" || key == "allocatable" || key == "available") {
    if (const auto text = quantity_text(value)) {
      if (const auto milli = parse_cpu(*text)) return "milli " + std::to_string(milli->v);
    }
  }
  return json::serialize(value);
}

}  // namespace

bool same_json(const json::value& a, const json::value& b) {
  return canonical(a, "") == canonical(b, "");
}

bool same_json_text(std::string_view a, std::string_view b) {
  if (a == b) return true;
  boost::system::error_code ec;
  const auto left = json::parse(a, ec);
  if (ec) return false;
  const auto right = json::parse(b, ec);
  return !ec && same_json(left, right);
}

}  // namespace koordlet::k8s
