#include "store/recording_frame.hpp"

namespace koordlet::store {
namespace {

enum class Kind : unsigned char { kKey = 1, kTick = 2 };

constexpr const char* kLabels[] = {"koordinator.sh/qosClass",
                                   "koordinator.sh/priority-class",
                                   "koordinator.sh/priority",
                                   "koordinator.sh/eviction-enabled"};
constexpr const char* kNodeAnnotations[] = {"node.koordinator.sh/cpu-normalization-ratio"};
constexpr const char* kAnnotations[] = {"koordinator.sh/eviction-priority",
                                        "koordinator.sh/eviction-policy",
                                        "koordinator.sh/qos-hands-off",
                                        "kubernetes.io/config.source"};
/// Of these only whether they are there counts.
constexpr const char* kPresence[] = {"kubernetes.io/config.mirror", "node.koordinator.sh/resctrl"};

template <std::size_t N>
void pick(const Texts& all, const char* const (&keys)[N], bool with_value, Texts& out) {
  for (const auto* key : keys) {
    const auto found = all.find(key);
    if (found != all.end()) out.emplace(key, with_value ? found->second : "");
  }
}

}  // namespace

Texts recorded_labels(const Texts& all) {
  Texts out;
  pick(all, kLabels, true, out);
  return out;
}

Texts recorded_annotations(const Texts& all) {
  Texts out;
  pick(all, kAnnotations, true, out);
  pick(all, kPresence, false, out);
  return out;
}

Texts recorded_node_annotations(const Texts& all) {
  Texts out;
  pick(all, kNodeAnnotations, true, out);
  return out;
}

template <class A>
void describe(A& a, KeyFrame& v) {
  a("wall", v.wall);
  a("run", v.run);
  a("number", v.number);
  a("version", v.version);
  a("settings", v.settings);
  a("states", v.states);
}

template <class A>
void describe(A& a, RecordedWish& v) {
  a("key", v.key);
  describe_value(a, v.key, v.value);
  a("role", v.role);
  a.intern("plugin", v.plugin);
  a.intern("reason", v.reason);
}

template <class A>
void describe(A& a, TickFrame::Host& v) {
  a("version", v.version);
  a("has_bvt", v.has_bvt);
  a("cpu_burst", v.cpu_burst);
  a("memory_min", v.memory_min);
  a("memory_vendor", v.memory_vendor);
  a("page_cache_limit", v.page_cache_limit);
  a("memory_reclaim", v.memory_reclaim);
  a("usage_valid", v.usage_valid);
  a("topology", v.topology);
  a("weight_rules", v.weight_rules);
}

template <class A>
void describe(A& a, TickFrame::UsageChange& v) {
  a("now", v.now);
  a("gone", v.gone);
}

template <class A>
void describe(A& a, TickFrame::Confirmed& v) {
  a("pods", v.pods);
  a("node", v.node);
  a("slo", v.slo);
}

template <class A>
void describe(A& a, TickFrame::Evict& v) {
  a("api_ok", v.api_ok);
  a("outcomes", v.outcomes);
  a("wishes", v.wishes);
}

template <class A>
void describe(A& a, TickFrame& v) {
  a("wall", v.wall);
  a("number", v.number);
  a("may_relax", v.may_relax);
  a("host", v.host);
  a("node", v.node);
  a("slo", v.slo);
  a("pods", v.pods);
  a("pods_gone", v.pods_gone);
  a("confirmed", v.confirmed);
  a("signals", v.signals);
  a("usage", v.usage);
  a("containers", v.containers);
  a("ls", v.ls);
  a("be_root", v.be_root);
  a("storage", v.storage);
  a("resctrl", v.resctrl);
  a("kubelet_cpus", v.kubelet_cpus);
  a("cpu_pools", v.cpu_pools);
  a("protected_cache", v.protected_cache);
  a("level", v.level);
  a("factor_permille", v.factor_permille);
  a("below_exit", v.below_exit);
  a("root_cap", v.root_cap);
  a("why", v.why);
  a("stale", v.stale);
  a("wishes", v.wishes);
  a("wishes_gone", v.wishes_gone);
  a("evict", v.evict);
  a("outcomes", v.outcomes);
}

namespace {

/// Kind and time first; all other times are differences to it.
template <class T>
std::string encode(Kind kind, const T& frame, WriteNames& names) {
  std::string out(1, static_cast<char>(kind));
  put_varint(out, zigzag(frame.now.time_since_epoch().count()));
  RecordWriter writer{out, names, frame.now};
  writer("frame", frame);
  return out;
}

template <class T>
Result<Frame> decode(std::string_view bytes, MonoTime now, ReadNames& names) {
  T out;
  out.now = now;
  RecordReader reader{bytes, names, now};
  reader("frame", out);
  if (reader.failed()) return Error{Errc::kParse, reader.error()};
  if (!reader.rest().empty()) return Error{Errc::kParse, "frame: expected its end, got more bytes"};
  return Frame{std::move(out)};
}

}  // namespace

std::string encode_frame(const KeyFrame& frame, WriteNames& names) {
  return encode(Kind::kKey, frame, names);
}

std::string encode_frame(const TickFrame& frame, WriteNames& names) {
  return encode(Kind::kTick, frame, names);
}

Result<Frame> decode_frame(std::string_view bytes, ReadNames& names) {
  if (bytes.empty()) return Error{Errc::kParse, "frame: expected a kind, got nothing"};
  const auto kind = static_cast<Kind>(bytes.front());
  bytes.remove_prefix(1);
  std::uint64_t raw = 0;
  if (!get_varint(bytes, raw)) return Error{Errc::kParse, "frame: expected a time, it ends"};
  const auto now = unzigzag(raw);
  if (now < 0 || now > std::int64_t{1} << 61) {
    return Error{Errc::kRange, "frame: now: expected 0 to 2^61 ns"};
  }
  const MonoTime at{MonoTime::duration{now}};
  if (kind == Kind::kKey) return decode<KeyFrame>(bytes, at, names);
  if (kind == Kind::kTick) return decode<TickFrame>(bytes, at, names);
  return Error{Errc::kParse, "frame: kind: expected 1 or 2"};
}

std::uint64_t frame_schema() {
  static const std::uint64_t hash = [] {
    RecordSchema schema;
    KeyFrame key;
    TickFrame tick;
    schema("key", key);
    schema("tick", tick);
    return schema.hash();
  }();
  return hash;
}

}  // namespace koordlet::store
