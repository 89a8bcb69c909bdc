#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/node.hpp"
#include "model/node_slo.hpp"
#include "model/pod.hpp"

namespace koordlet::states {

/// The objects of one manifest file. Pods have no cgroup paths yet.
struct ManifestFile {
  struct PodEntry {
    std::shared_ptr<const Pod> pod;
    std::string node_name;  ///< spec.nodeName, "" when it has none
  };
  struct SloEntry {
    std::string name;
    std::shared_ptr<const NodeSlo> slo;
  };
  std::vector<PodEntry> pods;
  std::vector<std::shared_ptr<const Node>> nodes;
  std::vector<SloEntry> slos;
  std::vector<std::string> faults;  ///< without the file's name
  /// False: the file could not be read whole, and the objects are those of an earlier reading.
  bool confirmed = true;

  bool empty() const { return pods.empty() && nodes.empty() && slos.empty(); }
};

/// Objects of a manifest text. Other kinds than Pod, Node and NodeSLO are passed over.
///
/// A text that cannot be read, holds no object or holds one without usable identity keeps the
/// objects of `last` (nullptr: a file seen for the first time, of which the good objects are
/// taken): an editor that has written half a file must not make pods vanish. A refused NodeSLO
/// field keeps the value of the NodeSLO of that name in `last`.
ManifestFile read_manifest(std::string_view text, std::size_t max_bytes, const ManifestFile* last);

/// A file that could not be read at all: the objects of `last`, and why.
ManifestFile keep_last(const ManifestFile* last, std::string fault);

}  // namespace koordlet::states
