#include <string>
#include <vector>

#include <boost/json/serialize.hpp>

#include "fuzz.hpp"
#include "k8s/list_page.hpp"
#include "k8s/manifest.hpp"

namespace {

using namespace koordlet;
using namespace koordlet::fuzz;

void check_pod(const boost::json::value& object) {
  const auto out = k8s::decode_pod(object);
  if (!out) return;
  const auto& pod = out->pod;
  require(!pod.uid.empty() && !pod.name.empty() && !pod.ns.empty(), "a pod has its names");
  require(pod.uid.find('/') == std::string::npos, "a uid is no path");
  require(!k8s::cgroup_uid(pod).empty(), "a pod has a cgroup's uid");
  require(k8s::cgroup_uid(pod).find('/') == std::string_view::npos, "a cgroup's uid is no path");
}

void check_slo(const boost::json::value& object, const NodeSlo& last) {
  const auto out = k8s::decode_node_slo(object);
  const auto over = k8s::decode_node_slo(object, &last);
  require(out.has_value() == over.has_value(), "what is an object does not depend on the last one");
  if (!out) return;
  require(out->faults.size() == over->faults.size(), "nor does what is refused");
  const auto again = k8s::decode_node_slo(object, &out->slo);
  require(again.has_value() && again->slo == out->slo, "read once more over itself, it stays");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = text_of(data, size);
  const auto documents = k8s::parse_documents(text, 1u << 16);
  if (!documents) return 0;
  NodeSlo last;
  for (const auto& document : *documents) {
    static_cast<void>(k8s::object_type(document));
    check_pod(document);
    static_cast<void>(k8s::decode_node(document));
    check_slo(document, last);
    if (auto slo = k8s::decode_node_slo(document)) last = std::move(slo->slo);
    const auto spelt = boost::json::serialize(document);
    if (!document.is_object()) continue;
    const auto back = k8s::parse_documents(spelt);
    if (back && back->size() == 1) {
      const bool same = back->front() == document;
      require(
          same || spelt.find("items") != std::string::npos || spelt.find('.') != std::string::npos,
          "a document written as JSON is the same document");
    }
    static_cast<void>(k8s::take_page(document));
  }
  return 0;
}
