#include "modules/states_informer/object_store.hpp"

#include <array>
#include <set>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "k8s/manifest.hpp"
#include "k8s/node_metric.hpp"
#include "k8s/prune.hpp"
#include "modules/states_informer/pod_resolver.hpp"

namespace koordlet::states {
namespace {

namespace json = boost::json;
using Kind = ObjectStore::Kind;

struct KindInfo {
  std::string_view name, api_version, kind;
};
constexpr std::array<KindInfo, ObjectStore::kKinds> kInfo{{
    {"pods", "v1", "Pod"},
    {"node", "v1", "Node"},
    {"nodeslo", "slo.koordinator.sh/v1alpha1", "NodeSLO"},
    {"nodemetric", "slo.koordinator.sh/v1alpha1", "NodeMetric"},
}};

const KindInfo& info(Kind kind) { return kInfo[static_cast<std::size_t>(kind)]; }

/// metadata.uid, else the name: what tells two objects of one kind apart.
std::string identity(const json::value& object) {
  if (!object.is_object()) return {};
  const auto* metadata = object.get_object().if_contains("metadata");
  if (metadata == nullptr || !metadata->is_object()) return {};
  for (const auto* key : {"uid", "name"}) {
    const auto* v = metadata->get_object().if_contains(key);
    if (v != nullptr && v->is_string() && !v->get_string().empty())
      return std::string{v->get_string()};
  }
  return {};
}

/// Objects as the cache keeps them. Items of a list carry no kind of their own.
std::string cache_text(Kind kind, const json::value& object) {
  auto pruned = k8s::prune(object, info(kind).kind);
  auto& fields = pruned.get_object();
  fields["apiVersion"] = info(kind).api_version;
  fields["kind"] = info(kind).kind;
  // It moves with each status of ours or of kubelet, and nobody reads it here.
  if (auto* metadata = fields.if_contains("metadata")) {
    if (metadata->is_object()) metadata->get_object().erase("resourceVersion");
  }
  return json::serialize(pruned);
}

}  // namespace

struct ObjectStore::Impl {
  /// One object of any kind: one of the pointers is set, or none when it could not be decoded.
  struct Entry {
    std::shared_ptr<const Pod> pod;
    std::shared_ptr<const Node> node;
    std::shared_ptr<const NodeSlo> slo;
    std::shared_ptr<const NodeMetricSpec> metric;
    std::vector<std::string> faults;
    std::string text;  ///< for the cache; empty once it was given away
    std::size_t text_hash = 0;
  };
  using Entries = std::map<std::string, Entry>;
  struct Table {
    Entries entries;
    Entries staged;
    std::vector<std::string> staged_faults;
    std::vector<std::string> faults;  ///< of objects without an identity
  };

  std::string node_name;
  bool keep_texts = false;
  std::optional<kernel::CgroupLayout> layout;
  std::array<Table, kKinds> tables;
  std::map<std::string, std::string> cgroup_owner;  ///< cgroup uid -> uid of the pod that has it
  std::uint64_t generation = 0;
  store::ObjectCache::Change change;
  std::set<std::pair<std::string, std::string>> changed_rows;  ///< put since take_change

  Table& table(Kind kind) { return tables[static_cast<std::size_t>(kind)]; }
  const Table& table(Kind kind) const { return tables[static_cast<std::size_t>(kind)]; }

  /// Why the object is none of ours; "" when it is.
  Result<Entry> decode(Kind kind, const json::value& object, const Entry* last) const;
  Result<Entry> decode_pod(const json::value& object) const;
  void place(Kind kind, const std::string& id, Entry entry);
  void release(Kind kind, const std::string& id);
  const Entry* single(Kind kind) const {
    const auto& entries = table(kind).entries;
    return entries.empty() ? nullptr : &entries.begin()->second;
  }
};

namespace {

constexpr const char* kForeign = "foreign";  // an object of another node: not ours, and no fault

Error foreign() { return Error{Errc::kNotFound, kForeign}; }

/// A new value that equals the old one keeps its pointer.
template <class T>
std::shared_ptr<const T> shared(T value, const std::shared_ptr<const T>& before) {
  if (before && *before == value) return before;
  return std::make_shared<const T>(std::move(value));
}

}  // namespace

Result<ObjectStore::Impl::Entry> ObjectStore::Impl::decode_pod(const json::value& object) const {
  auto r = k8s::decode_pod(object);
  if (!r) return r.error();
  // kubelet has no pods but its own, whatever the node is called.
  if (!node_name.empty() && r->node_name != node_name) return foreign();
  Entry out;
  out.faults = std::move(r->faults);
  auto pod = resolve_paths(std::move(r->pod), layout, "", out.faults);
  out.pod = std::make_shared<const Pod>(std::move(pod));
  return out;
}

Result<ObjectStore::Impl::Entry> ObjectStore::Impl::decode(Kind kind,
                                                           const json::value& object,
                                                           const Entry* last) const {
  Entry out;
  switch (kind) {
    case Kind::kPods: {
      auto entry = decode_pod(object);
      if (entry && last != nullptr && last->pod && *entry->pod == *last->pod)
        entry->pod = last->pod;
      return entry;
    }
    case Kind::kNode: {
      auto r = k8s::decode_node(object);
      if (!r) return r.error();
      if (r->node.name != node_name) return foreign();
      out.node = shared(std::move(r->node), last ? last->node : nullptr);
      out.faults = std::move(r->faults);
      return out;
    }
    case Kind::kNodeSlo: {
      auto r = k8s::decode_node_slo(object, last && last->slo ? last->slo.get() : nullptr);
      if (!r) return r.error();
      if (r->name != node_name) return foreign();
      out.slo = shared(std::move(r->slo), last ? last->slo : nullptr);
      out.faults = std::move(r->faults);
      return out;
    }
    case Kind::kNodeMetric: {
      auto r = k8s::decode_node_metric(object, last && last->metric ? last->metric.get() : nullptr);
      if (!r) return r.error();
      if (r->name != node_name) return foreign();
      out.metric = shared(std::move(r->spec), last ? last->metric : nullptr);
      out.faults = std::move(r->faults);
      return out;
    }
  }
  return foreign();
}

/// Takes the object in, unless its cgroup belongs to another pod already.
void ObjectStore::Impl::place(Kind kind, const std::string& id, Entry entry) {
  auto& entries = table(kind).entries;
  if (kind == Kind::kPods) {
    const std::string cgroup_uid{k8s::cgroup_uid(*entry.pod)};
    for (const auto& uid : {id, cgroup_uid}) {
      const auto owner = cgroup_owner.find(uid);
      if (owner == cgroup_owner.end() || owner->second == id) continue;
      table(kind).faults = {fmt::format("pod {}: has the cgroup of the pod with uid {}: ignored",
                                        full_name(*entry.pod),
                                        owner->second)};
      ++generation;
      return;
    }
    cgroup_owner[id] = id;
    cgroup_owner[cgroup_uid] = id;
  } else if (!entries.contains(id)) {
    // The object was deleted and made again, and only the latter was seen.
    while (!entries.empty()) release(kind, std::string{entries.begin()->first});
  }
  const auto at = entries.find(id);
  const bool same = at != entries.end() && at->second.pod == entry.pod &&
                    at->second.node == entry.node && at->second.slo == entry.slo &&
                    at->second.metric == entry.metric && at->second.faults == entry.faults;
  if (!same) ++generation;
  if (keep_texts) {
    const auto hash = std::hash<std::string>{}(entry.text);
    if (at == entries.end() || at->second.text_hash != hash) {
      changed_rows.emplace(info(kind).name, id);
    }
    entry.text_hash = hash;
  }
  entries[id] = std::move(entry);
}

void ObjectStore::Impl::release(Kind kind, const std::string& id) {
  auto& entries = table(kind).entries;
  const auto at = entries.find(id);
  if (at == entries.end()) return;
  std::erase_if(cgroup_owner, [&](const auto& o) { return kind == Kind::kPods && o.second == id; });
  entries.erase(at);
  ++generation;
  if (!keep_texts) return;
  changed_rows.erase({std::string{info(kind).name}, id});
  change.erase.emplace_back(info(kind).name, id);
}

ObjectStore::ObjectStore(std::string node_name, bool keep_texts) : impl_{std::make_unique<Impl>()} {
  impl_->node_name = std::move(node_name);
  impl_->keep_texts = keep_texts;
}

ObjectStore::~ObjectStore() = default;

std::string_view ObjectStore::name_of(Kind kind) { return info(kind).name; }

void ObjectStore::stage(Kind kind, const json::value& object) {
  auto& table = impl_->table(kind);
  const auto id = identity(object);
  const auto before = table.entries.find(id);
  const auto* last = before == table.entries.end() ? nullptr : &before->second;
  auto entry = impl_->decode(kind, object, last);
  if (entry) {
    if (impl_->keep_texts) entry->text = cache_text(kind, object);
    table.staged.insert_or_assign(id, std::move(*entry));
    return;
  }
  if (entry.error().context == kForeign) return;
  table.staged_faults.push_back(entry.error().context);
  if (last == nullptr) return;
  // Its last good form stays; with the text it had.
  auto kept = *last;
  table.staged.insert_or_assign(id, std::move(kept));
}

void ObjectStore::commit(Kind kind) {
  auto& impl = *impl_;
  auto& table = impl.table(kind);
  auto staged = std::move(table.staged);
  table.staged.clear();
  std::vector<std::string> gone;
  for (const auto& [id, entry] : table.entries) {
    if (!staged.contains(id)) gone.push_back(id);
  }
  for (const auto& id : gone) impl.release(kind, id);
  if (table.faults != table.staged_faults) ++impl.generation;
  table.faults = std::move(table.staged_faults);
  table.staged_faults.clear();
  for (auto& [id, entry] : staged) impl.place(kind, id, std::move(entry));
}

void ObjectStore::abandon(Kind kind) {
  impl_->table(kind).staged.clear();
  impl_->table(kind).staged_faults.clear();
}

void ObjectStore::put(Kind kind, const json::value& object) {
  auto& table = impl_->table(kind);
  const auto id = identity(object);
  const auto before = table.entries.find(id);
  auto entry =
      impl_->decode(kind, object, before == table.entries.end() ? nullptr : &before->second);
  if (entry) {
    if (impl_->keep_texts) entry->text = cache_text(kind, object);
    impl_->place(kind, id, std::move(*entry));
    return;
  }
  if (entry.error().context == kForeign) return;
  std::vector<std::string> fault{entry.error().context};
  auto& faults = before == table.entries.end() ? table.faults : before->second.faults;
  if (faults != fault) ++impl_->generation;
  faults = std::move(fault);
}

void ObjectStore::erase(Kind kind, const json::value& object) {
  impl_->release(kind, identity(object));
}

bool ObjectStore::restore(const store::CachedObject& cached) {
  boost::system::error_code ec;
  const auto object = json::parse(cached.text, ec);
  if (ec) return false;
  for (std::size_t k = 0; k < kKinds; ++k) {
    if (kInfo[k].name != cached.kind) continue;
    const auto kind = static_cast<Kind>(k);
    const auto id = identity(object);
    auto entry = impl_->decode(kind, object, nullptr);
    if (!entry || id != cached.id) return false;
    entry->text = cached.text;
    impl_->place(kind, id, std::move(*entry));
    impl_->changed_rows.erase({cached.kind, cached.id});  // it is there already
    return true;
  }
  return false;
}

void ObjectStore::set_layout(const std::optional<kernel::CgroupLayout>& layout) {
  const auto driver = [](const auto& l) {
    return l ? std::optional{l->driver()} : std::optional<CgroupDriver>{};
  };
  if (driver(layout) == driver(impl_->layout)) return;
  impl_->layout = layout;
  for (auto& [id, entry] : impl_->table(Kind::kPods).entries) {
    entry.pod = shared(resolve_paths(*entry.pod, layout, "", entry.faults), entry.pod);
  }
  ++impl_->generation;
}

std::vector<std::shared_ptr<const Pod>> ObjectStore::pods() const {
  std::vector<std::shared_ptr<const Pod>> out;
  const auto& entries = impl_->table(Kind::kPods).entries;
  out.reserve(entries.size());
  for (const auto& [id, entry] : entries) out.push_back(entry.pod);
  return out;
}

namespace {
template <class T>
const std::shared_ptr<const T>& none() {
  static const std::shared_ptr<const T> null;
  return null;
}
}  // namespace

const std::shared_ptr<const Node>& ObjectStore::node() const {
  const auto* e = impl_->single(Kind::kNode);
  return e != nullptr ? e->node : none<Node>();
}

const std::string& ObjectStore::node_uid() const {
  static const std::string unknown;
  const auto& entries = impl_->table(Kind::kNode).entries;
  // An object without uid stands under its name.
  return entries.empty() || entries.begin()->first == impl_->node_name ? unknown
                                                                       : entries.begin()->first;
}

const std::shared_ptr<const NodeSlo>& ObjectStore::slo() const {
  const auto* e = impl_->single(Kind::kNodeSlo);
  return e != nullptr ? e->slo : none<NodeSlo>();
}

const std::shared_ptr<const NodeMetricSpec>& ObjectStore::metric() const {
  const auto* e = impl_->single(Kind::kNodeMetric);
  return e != nullptr ? e->metric : none<NodeMetricSpec>();
}

std::vector<std::string> ObjectStore::faults() const {
  std::vector<std::string> out;
  for (const auto& table : impl_->tables) {
    out.insert(out.end(), table.faults.begin(), table.faults.end());
    for (const auto& [id, entry] : table.entries) {
      out.insert(out.end(), entry.faults.begin(), entry.faults.end());
    }
  }
  return out;
}

std::uint64_t ObjectStore::generation() const { return impl_->generation; }

store::ObjectCache::Change ObjectStore::take_change() {
  auto out = std::move(impl_->change);
  impl_->change = {};
  for (const auto& [name, id] : std::exchange(impl_->changed_rows, {})) {
    for (std::size_t k = 0; k < kKinds; ++k) {
      if (kInfo[k].name != name) continue;
      auto& entries = impl_->tables[k].entries;
      const auto at = entries.find(id);
      if (at == entries.end() || at->second.text.empty()) continue;
      out.put.push_back({name, id, std::move(at->second.text)});
    }
  }
  // What was not given away has not changed: nobody will ask for its text.
  for (auto& table : impl_->tables) {
    for (auto& [id, entry] : table.entries) std::string{}.swap(entry.text);
  }
  return out;
}

}  // namespace koordlet::states
