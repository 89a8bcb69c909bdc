#include <utility>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "base/parse.hpp"
#include "k8s/amounts.hpp"
#include "k8s/fields.hpp"
#include "k8s/names.hpp"
#include "k8s/pod_parts.hpp"
#include "k8s/quantity.hpp"
#include "modules/runtime_hooks/hook_case.hpp"

namespace koordlet::runtime_hooks {
namespace {

namespace json = boost::json;
using k8s::Fields;
using k8s::Refusals;

constexpr const char* kBatchSpec = "node.koordinator.sh/extended-resource-spec";
constexpr const char* kResourceStatus = "scheduling.koordinator.sh/resource-status";
constexpr const char* kDevices = "scheduling.koordinator.sh/device-allocated";
constexpr const char* kOomSpec = "koordinator.sh/oom-score-adj-spec";
constexpr const char* kOomAdj = "koordinator.sh/oom-score-adj";
constexpr std::int64_t kMostMinor = 1023;  // more GPUs than a machine has

using Texts = std::map<std::string, std::string>;

const std::string* find(const Texts& texts, const char* key) {
  const auto at = texts.find(key);
  return at == texts.end() ? nullptr : &at->second;
}

/// One annotation as a JSON object, and what was wrong with it.
class Annotation {
 public:
  Annotation(const char* key, const std::string& text) : key_{key}, refusals_{"annotation"} {
    object_ = k8s::parse_annotation(key, text, refusals_);
  }
  explicit operator bool() const { return object_.has_value(); }
  Fields fields() { return {*object_, fmt::format("[{}]", key_), refusals_, k8s::KeyCase::kAny}; }
  Refusals& refusals() { return refusals_; }
  /// nullopt: nothing was refused.
  std::optional<Error> fault() {
    const auto lines = refusals_.take();
    if (lines.empty()) return std::nullopt;
    return Error{Errc::kParse, lines.front()};
  }

 private:
  const char* key_;
  Refusals refusals_;
  std::optional<json::object> object_;
};

Result<policy::CpuAllocation> read_allocation(const Texts& texts) {
  policy::CpuAllocation out;
  const auto* text = find(texts, kResourceStatus);
  if (text == nullptr) return out;
  Annotation annotation{kResourceStatus, *text};
  if (annotation) {
    const auto fields = annotation.fields();
    if (const auto cpus = fields.text("cpuset"); cpus.value) {
      const auto set = CpuSet::parse(*cpus.value);
      if (set) {
        out.cpus = *set;
      } else {
        fields.refuse("cpuset", set.error().context);
      }
    }
    out.numa = k8s::decode_numa_nodes(fields);
  }
  if (auto fault = annotation.fault()) return std::move(*fault);
  return out;
}

using OomAdj = std::optional<std::int64_t>;
constexpr std::int64_t kLeastAdj = -1000, kMostAdj = 1000;  // proc(5)

Result<OomAdj> read_oom_score_adj(const Pod& pod, const std::string& container) {
  if (const auto* text = find(pod.annotations, kOomSpec)) {
    Annotation annotation{kOomSpec, *text};
    OomAdj out;
    if (annotation) out = annotation.fields().integer(container, kLeastAdj, kMostAdj).value;
    if (auto fault = annotation.fault()) return std::move(*fault);
    if (out) return out;
  }
  const auto* text = find(pod.annotations, kOomAdj);
  if (text == nullptr) text = find(pod.labels, kOomAdj);
  if (text == nullptr) return OomAdj{};
  const auto value = parse_i64(*text);
  if (value && *value >= kLeastAdj && *value <= kMostAdj) return OomAdj{std::int64_t{*value}};
  return Error{Errc::kParse,
               fmt::format("{}: '{}': expected -1000..1000", kOomAdj, printable(*text, 60))};
}

policy::GpuShare read_gpu(const Fields& entry) {
  policy::GpuShare out;
  if (const auto minor = entry.integer("minor", 0, kMostMinor); minor.value) {
    out.minor = static_cast<int>(*minor.value);
  } else if (!minor.refused) {
    entry.refuse("minor", "expected a number");
  }
  const auto amounts = entry.object("resources");
  if (!amounts.value) return out;
  const auto percent = [&](const char* key) -> std::optional<std::int64_t> {
    const auto v = k8s::milli_amount(*amounts.value, key);
    return v ? std::optional{v->v} : std::nullopt;
  };
  out.core_percent = percent("koordinator.sh/gpu-core");
  out.memory_percent = percent("koordinator.sh/gpu-memory-ratio");
  out.memory = k8s::memory_amount(*amounts.value, "koordinator.sh/gpu-memory");
  return out;
}

bool is_pci_id(const std::string& text) {
  return !text.empty() && text.size() <= 32 &&
         text.find_first_not_of("0123456789abcdefABCDEF:.") == std::string::npos;
}

void read_pci(const Fields& fields, const char* key, std::vector<std::string>& out) {
  const auto id = fields.text(key);
  if (id.value && is_pci_id(*id.value)) {
    out.push_back(*id.value);
  } else if (!id.refused) {
    fields.refuse(key, json::value(id.value.value_or("")), "a PCI id");
  }
}

/// Its virtual functions; without any the device itself.
void read_rdma(const Fields& entry, std::vector<std::string>& out) {
  const auto extension = entry.object("extension");
  const json::array* vfs = extension.value ? extension.value->array("vfs") : nullptr;
  if (vfs == nullptr || vfs->empty()) return read_pci(entry, "id", out);
  for (std::size_t i = 0; i < vfs->size(); ++i) {
    const auto at = fmt::format("vfs[{}]", i);
    const auto* object = (*vfs)[i].if_object();
    if (object == nullptr) {
      extension.value->refuse(at, (*vfs)[i], "an object");
      continue;
    }
    const Fields vf{*object, extension.value->path(at), entry.refusals(), k8s::KeyCase::kAny};
    read_pci(vf, "busID", out);
  }
}

/// Calls `read` for each device of a kind.
template <class Read>
std::optional<Error> read_devices(const std::string& text, const char* kind, Read&& read) {
  Annotation annotation{kDevices, text};
  if (annotation) {
    const auto fields = annotation.fields();
    if (const auto* list = fields.array(kind)) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        const auto at = fmt::format("{}[{}]", kind, i);
        if (const auto* object = (*list)[i].if_object()) {
          read(Fields{*object, fields.path(at), annotation.refusals(), k8s::KeyCase::kAny});
        } else {
          fields.refuse(at, (*list)[i], "an object");
        }
      }
    }
  }
  return annotation.fault();
}

void read_devices(const Texts& texts, policy::HookAnnotations& out) {
  const auto* text = find(texts, kDevices);
  if (text == nullptr) return;
  std::vector<policy::GpuShare> gpus;
  auto fault =
      read_devices(*text, "gpu", [&](const Fields& entry) { gpus.push_back(read_gpu(entry)); });
  out.gpus = fault ? Result<std::vector<policy::GpuShare>>{std::move(*fault)}
                   : Result<std::vector<policy::GpuShare>>{std::move(gpus)};
  std::vector<std::string> ids;
  fault = read_devices(*text, "rdma", [&](const Fields& entry) { read_rdma(entry, ids); });
  out.rdma = fault ? Result<std::vector<std::string>>{std::move(*fault)}
                   : Result<std::vector<std::string>>{std::move(ids)};
}

}  // namespace

Result<std::vector<Container>> batch_spec(const Texts& texts) {
  std::vector<Container> out;
  const auto* text = find(texts, kBatchSpec);
  if (text == nullptr) return out;
  Annotation annotation{kBatchSpec, *text};
  if (annotation) {
    const auto containers = annotation.fields().object("containers");
    if (containers.value) {
      for (const auto& item : containers.value->raw()) {
        const std::string name{item.key()};
        if (!k8s::is_dns_label(name) || !item.value().is_object()) {
          containers.value->refuse("name", json::value(name), "a DNS label with an object");
          continue;
        }
        json::object wrapped;
        wrapped["resources"] = item.value();
        const auto amounts = k8s::decode_resources(
            Fields{wrapped, containers.value->path(name), annotation.refusals()});
        Container& c = out.emplace_back();
        c.name = name;
        c.requests = amounts.requests;
        c.limits = amounts.limits;
      }
    }
  }
  if (auto fault = annotation.fault()) return std::move(*fault);
  return out;
}

policy::HookAnnotations read_annotations(const Pod& pod, const std::string& container) {
  policy::HookAnnotations out;
  out.allocation = read_allocation(pod.annotations);
  out.oom_score_adj = read_oom_score_adj(pod, container);
  read_devices(pod.annotations, out);
  return out;
}

}  // namespace koordlet::runtime_hooks
