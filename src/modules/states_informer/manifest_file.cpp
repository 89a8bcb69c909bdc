#include "modules/states_informer/manifest_file.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "k8s/manifest.hpp"

namespace koordlet::states {
namespace {

namespace json = boost::json;

class Reader {
 public:
  explicit Reader(const ManifestFile* last) : last_{last} {}

  /// False: the object has no usable identity.
  bool take(const json::value& object, std::size_t number) {
    const auto type = k8s::object_type(object);
    if (type == "v1/Pod") return take_pod(object);
    if (type == "v1/Node") return take_node(object);
    if (type == "slo.koordinator.sh/v1alpha1/NodeSLO") return take_slo(object);
    if (type.empty()) {
      out.faults.push_back(fmt::format("object {}: expected apiVersion and kind", number));
      return false;
    }
    const auto kind = type.substr(type.rfind('/') + 1);
    if (kind == "Pod" || kind == "Node" || kind == "NodeSLO") {
      out.faults.push_back(fmt::format("object {}: {}: this version is not known", number, type));
      return false;
    }
    return true;
  }

  ManifestFile out;

 private:
  bool refuse(const Error& e) {
    out.faults.push_back(e.context);
    return false;
  }
  void add_faults(std::vector<std::string>& faults) {
    std::move(faults.begin(), faults.end(), std::back_inserter(out.faults));
  }

  bool take_pod(const json::value& object) {
    auto r = k8s::decode_pod(object);
    if (!r) return refuse(r.error());
    add_faults(r->faults);
    out.pods.push_back({std::make_shared<const Pod>(std::move(r->pod)), std::move(r->node_name)});
    return true;
  }

  bool take_node(const json::value& object) {
    auto r = k8s::decode_node(object);
    if (!r) return refuse(r.error());
    add_faults(r->faults);
    out.nodes.push_back(std::make_shared<const Node>(std::move(r->node)));
    return true;
  }

  bool take_slo(const json::value& object) {
    auto r = k8s::decode_node_slo(object);
    if (!r) return refuse(r.error());
    if (const auto* before = r->faults.empty() ? nullptr : last_slo(r->name)) {
      r = k8s::decode_node_slo(object, before);
      if (!r) return refuse(r.error());
    }
    add_faults(r->faults);
    out.slos.push_back({std::move(r->name), std::make_shared<const NodeSlo>(std::move(r->slo))});
    return true;
  }

  const NodeSlo* last_slo(const std::string& name) const {
    if (last_ == nullptr) return nullptr;
    const auto at = std::find_if(
        last_->slos.begin(), last_->slos.end(), [&name](const auto& e) { return e.name == name; });
    return at == last_->slos.end() ? nullptr : at->slo.get();
  }

  const ManifestFile* last_;
};

bool same_objects(const ManifestFile& a, const ManifestFile& b) {
  const auto same_pod = [](const auto& x, const auto& y) {
    return *x.pod == *y.pod && x.node_name == y.node_name;
  };
  const auto same_node = [](const auto& x, const auto& y) { return *x == *y; };
  const auto same_slo = [](const auto& x, const auto& y) {
    return x.name == y.name && *x.slo == *y.slo;
  };
  return std::equal(a.pods.begin(), a.pods.end(), b.pods.begin(), b.pods.end(), same_pod) &&
         std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), same_node) &&
         std::equal(a.slos.begin(), a.slos.end(), b.slos.begin(), b.slos.end(), same_slo);
}

}  // namespace

ManifestFile read_manifest(std::string_view text, std::size_t max_bytes, const ManifestFile* last) {
  const auto objects = k8s::parse_documents(text, max_bytes);
  if (!objects) return keep_last(last, objects.error().context);
  Reader reader{last};
  bool whole = true;
  std::size_t number = 0;
  for (const auto& object : *objects) whole = reader.take(object, ++number) && whole;
  if (whole || last == nullptr || last->empty() || same_objects(reader.out, *last)) {
    return std::move(reader.out);
  }
  ManifestFile kept = *last;
  kept.faults = std::move(reader.out.faults);
  kept.confirmed = false;
  return kept;
}

ManifestFile keep_last(const ManifestFile* last, std::string fault) {
  ManifestFile kept;
  if (last != nullptr) kept = *last;
  kept.faults = {std::move(fault)};
  kept.confirmed = false;
  return kept;
}

}  // namespace koordlet::states
