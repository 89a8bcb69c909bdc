#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "k8s/fields.hpp"

namespace koordlet::k8s {

/// Annotation with a whole former manifest, environment variables included: large, and of no use on
/// the node.
inline constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/// metadata of an object with its name, which must be a DNS subdomain.
struct Metadata {
  const json::object* object = nullptr;  ///< of the value given to find_metadata
  std::string name;
};
Result<Metadata> find_metadata(const json::value& object, std::string_view kind);

/// Labels or annotations. Entries that are not text are refused and left out.
std::map<std::string, std::string> decode_text_map(const Fields& metadata, std::string_view key);

}  // namespace koordlet::k8s
