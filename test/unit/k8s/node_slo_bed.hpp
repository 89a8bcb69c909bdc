#pragma once

#include <string>

#include <doctest/doctest.h>

#include "k8s/manifest.hpp"

namespace koordlet::k8s {

/// The NodeSLO of node n1 with this spec, in YAML.
inline NodeSloResult slo_of(const std::string& spec, const NodeSlo* last = nullptr) {
  const auto documents = parse_documents("metadata: {name: n1}\nspec: " + spec + "\n");
  REQUIRE(documents.has_value());
  REQUIRE(documents->size() == 1);
  auto r = decode_node_slo(documents->front(), last);
  REQUIRE(r.has_value());
  return *r;
}

}  // namespace koordlet::k8s
