#include "k8s/prune.hpp"

#include <initializer_list>
#include <string_view>

#include "k8s/manifest.hpp"
#include "k8s/metadata.hpp"

namespace koordlet::k8s {
namespace {

namespace json = boost::json;

using Keys = std::initializer_list<std::string_view>;

const json::value* member(const json::value& object, std::string_view key) {
  return object.is_object() ? object.get_object().if_contains(key) : nullptr;
}

/// The named members of an object, whole; what is no object stays what it is.
json::value pick(const json::value& from, Keys keys) {
  if (!from.is_object()) return from;
  json::object out;
  for (const auto key : keys) {
    if (const auto* v = member(from, key)) out[key] = *v;
  }
  return out;
}

template <class F>
void keep(json::object& out, const json::value& from, std::string_view key, F f) {
  if (const auto* v = member(from, key)) out[key] = f(*v);
}

template <class F>
json::value each(const json::value& list, F f) {
  if (!list.is_array()) return list;
  json::array out;
  out.reserve(list.get_array().size());
  for (const auto& item : list.get_array()) out.push_back(f(item));
  return out;
}

json::value annotations(const json::value& from) {
  if (!from.is_object()) return from;
  json::object out = from.get_object();
  out.erase(kLastApplied);
  return out;
}

json::value metadata(const json::value& from) {
  if (!from.is_object()) return from;
  auto out = pick(from,
                  {"name",
                   "namespace",
                   "uid",
                   "generation",
                   "resourceVersion",
                   "labels",
                   "deletionTimestamp",
                   "ownerReferences"})
                 .get_object();
  keep(out, from, "annotations", annotations);
  return out;
}

/// Of the state of a container only which one it is.
json::value container_state(const json::value& from) {
  if (!from.is_object()) return from;
  json::object out;
  for (const auto& entry : from.get_object()) {
    out[entry.key()] = entry.value().is_object() ? json::value(json::object{}) : entry.value();
  }
  return out;
}

json::value container_status(const json::value& from) {
  if (!from.is_object()) return from;
  auto out = pick(from, {"name", "containerID"}).get_object();
  keep(out, from, "state", container_state);
  return out;
}

json::value containers(const json::value& from) {
  return each(from, [](const json::value& c) {
    return pick(c, {"name", "resources", "restartPolicy"});
  });
}

json::value pod_spec(const json::value& from) {
  if (!from.is_object()) return from;
  auto out = pick(from, {"nodeName", "priority", "resources", "overhead"}).get_object();
  keep(out, from, "containers", containers);
  keep(out, from, "initContainers", containers);
  return out;
}

json::value pod_status(const json::value& from) {
  if (!from.is_object()) return from;
  auto out = pick(from, {"phase", "qosClass"}).get_object();
  const auto statuses = [](const json::value& list) { return each(list, container_status); };
  keep(out, from, "containerStatuses", statuses);
  keep(out, from, "initContainerStatuses", statuses);
  return out;
}

json::value node_status(const json::value& from) { return pick(from, {"capacity", "allocatable"}); }

json::value whole(const json::value& from) { return from; }

}  // namespace

json::value prune(const json::value& object) {
  const auto* kind_value = member(object, "kind");
  const std::string_view kind = kind_value != nullptr && kind_value->is_string()
                                    ? std::string_view{kind_value->get_string()}
                                    : std::string_view{};
  return prune(object, kind);
}

json::value prune(const json::value& object, std::string_view kind) {
  if (!object.is_object()) return nullptr;
  auto out = pick(object, {"apiVersion", "kind"}).get_object();
  if (kind == "Pod") {
    keep(out, object, "metadata", metadata);
    keep(out, object, "spec", pod_spec);
    keep(out, object, "status", pod_status);
  } else if (kind == "Node") {
    keep(out, object, "metadata", metadata);
    keep(out, object, "status", node_status);
  } else if (kind == "NodeSLO" || kind == "NodeMetric") {
    keep(out, object, "metadata", metadata);
    keep(out, object, "spec", whole);
  } else {
    keep(out, object, "metadata", [](const json::value& m) { return pick(m, {"name"}); });
  }
  return out;
}

}  // namespace koordlet::k8s
