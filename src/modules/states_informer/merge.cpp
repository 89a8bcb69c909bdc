#include "modules/states_informer/merge.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "modules/states_informer/pod_resolver.hpp"

namespace koordlet::states {
namespace {

using Files = std::map<std::string, ManifestFile>;

/// Node or NodeSLO with where it came from.
template <class T>
struct Candidate {
  std::string name;
  std::shared_ptr<const T> object;
  const std::string* file;
};

/// Named like the node; while the node's name is unknown the only one. The first of two with one
/// name.
template <class T>
std::shared_ptr<const T> choose(std::string_view kind,
                                const std::string& node_name,
                                const std::vector<Candidate<T>>& all,
                                std::vector<std::string>& faults) {
  const Candidate<T>* found = nullptr;
  for (const auto& c : all) {
    if (c.name != node_name) continue;
    if (found == nullptr) {
      found = &c;
    } else {
      faults.push_back(fmt::format(
          "{}: {} {} stands in {} already: ignored", *c.file, kind, c.name, *found->file));
    }
  }
  if (found != nullptr) return found->object;
  if (all.empty()) return nullptr;
  const auto same = [&all](const Candidate<T>& c) { return c.name == all.front().name; };
  if (node_name.empty() && std::all_of(all.begin(), all.end(), same)) {
    for (std::size_t i = 1; i < all.size(); ++i) {
      faults.push_back(fmt::format("{}: {} {} stands in {} already: ignored",
                                   *all[i].file,
                                   kind,
                                   all[i].name,
                                   *all[0].file));
    }
    return all.front().object;
  }
  faults.push_back(
      node_name.empty()
          ? fmt::format("{} {} objects: expected one, or a node name", all.size(), kind)
          : fmt::format("{} {} objects: expected one named {}", all.size(), kind, node_name));
  return nullptr;
}

/// Equal content keeps its pointer, so that others can compare pointers.
template <class T>
std::shared_ptr<const T> same_or(std::shared_ptr<const T> now,
                                 const std::shared_ptr<const T>& before) {
  return now && before && *now == *before ? before : now;
}

class Merger {
 public:
  Merger(const std::optional<kernel::CgroupLayout>& layout, const NodeState& previous)
      : layout_{layout}, previous_{previous} {}

  void take_objects(const Files& files, const std::string& node_name) {
    std::vector<Candidate<Node>> nodes;
    std::vector<Candidate<NodeSlo>> slos;
    for (const auto& [name, file] : files) {
      for (const auto& n : file.nodes) nodes.push_back({n->name, n, &name});
      for (const auto& s : file.slos) slos.push_back({s.name, s.slo, &name});
      if (file.confirmed) continue;
      out.pods_confirmed = out.pods_confirmed && file.pods.empty();
      out.node_confirmed = out.node_confirmed && file.nodes.empty();
      out.slo_confirmed = out.slo_confirmed && file.slos.empty();
    }
    out.node = same_or(choose("Node", node_name, nodes, out.faults), previous_.node);
    // A Node that is only there by being the only one does not rename this node.
    node_name_ = node_name.empty() && out.node ? out.node->name : node_name;
    out.slo = same_or(choose("NodeSLO", node_name_, slos, out.faults), previous_.slo);
  }

  void take_pods(const Files& files) {
    for (const auto& [name, file] : files) {
      for (const auto& entry : file.pods) {
        const bool ours =
            entry.node_name.empty() || node_name_.empty() || entry.node_name == node_name_;
        if (ours && claims_.claim(*entry.pod, name, out.faults))
          out.pods.push_back(resolve(*entry.pod, name));
      }
    }
    std::sort(out.pods.begin(), out.pods.end(), [](const auto& a, const auto& b) {
      return a->uid < b->uid;
    });
  }

  void take_faults(const Files& files) {
    std::vector<std::string> lines;
    for (const auto& [name, file] : files) {
      for (const auto& fault : file.faults) lines.push_back(fmt::format("{}: {}", name, fault));
    }
    lines.insert(lines.end(), out.faults.begin(), out.faults.end());
    out.faults = std::move(lines);
  }

  Merged out;

 private:
  std::shared_ptr<const Pod> resolve(const Pod& plain, const std::string& file) {
    Pod pod = resolve_paths(plain, layout_, file, out.faults);
    const auto before =
        std::lower_bound(previous_.pods.begin(),
                         previous_.pods.end(),
                         pod.uid,
                         [](const auto& p, const std::string& uid) { return p->uid < uid; });
    if (before != previous_.pods.end() && **before == pod) return *before;
    return std::make_shared<const Pod>(std::move(pod));
  }

  const std::optional<kernel::CgroupLayout>& layout_;
  const NodeState& previous_;
  std::string node_name_;
  PodClaims claims_;
};

}  // namespace

Merged merge(const Files& files,
             const std::string& node_name,
             const std::optional<kernel::CgroupLayout>& layout,
             const NodeState& previous) {
  Merger merger{layout, previous};
  merger.take_objects(files, node_name);
  merger.take_pods(files);
  merger.take_faults(files);
  return std::move(merger.out);
}

}  // namespace koordlet::states
