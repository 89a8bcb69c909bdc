#include "k8s/metadata.hpp"

#include <fmt/format.h>

#include "k8s/names.hpp"

namespace koordlet::k8s {

Result<Metadata> find_metadata(const json::value& object, std::string_view kind) {
  if (!object.is_object()) {
    return Error{Errc::kParse, fmt::format("{}: {}: expected an object", kind, shown(object))};
  }
  const auto* metadata = object.get_object().if_contains("metadata");
  if (metadata == nullptr || !metadata->is_object()) {
    return Error{Errc::kParse, fmt::format("{}: metadata: expected an object", kind)};
  }
  const auto* name = metadata->get_object().if_contains("name");
  if (name == nullptr || name->is_null()) {
    return Error{Errc::kParse, fmt::format("{}: metadata.name: absent: expected a name", kind)};
  }
  if (!name->is_string() || !is_dns_subdomain(name->get_string())) {
    return Error{Errc::kRange,
                 fmt::format("{}: metadata.name: {}: expected a DNS name", kind, shown(*name))};
  }
  return Metadata{&metadata->get_object(), std::string{name->get_string()}};
}

std::map<std::string, std::string> decode_text_map(const Fields& metadata, std::string_view key) {
  std::map<std::string, std::string> out;
  const auto entries = metadata.object(key);
  if (!entries.value) return out;
  for (const auto& member : entries.value->raw()) {
    if (member.key() == kLastApplied) continue;
    if (!member.value().is_string()) {
      metadata.refuse(
          fmt::format("{}[{}]", key, std::string_view{member.key()}), member.value(), "text");
      continue;
    }
    out.emplace(member.key(), member.value().get_string());
  }
  return out;
}

}  // namespace koordlet::k8s
