#include "modules/metric_advisor/workload_reader.hpp"

#include <utility>

#include "modules/metric_advisor/impl.hpp"

namespace koordlet {
namespace {

constexpr auto kIteratorRetry = std::chrono::minutes{10};

}  // namespace

WorkloadReader::WorkloadReader(kernel::HostRoots roots,
                               CgroupVersion version,
                               const Clock& clock,
                               std::size_t descriptor_budget)
    : roots_{roots},
      version_{version},
      clock_{clock},
      counters_{std::move(roots), version, descriptor_budget} {}

void WorkloadReader::note(const char* source, const Error& error) {
  if (is_gone(error)) return;
  auto& noted = notes_[source];
  // What one cgroup lacks hides no failure of another.
  if (error.code == Errc::kNotSupported && noted && noted->code != Errc::kNotSupported) return;
  noted = error;
}

void WorkloadReader::works(const char* source) {
  // One cgroup that fails is a fault of the source, whatever the others say.
  notes_.try_emplace(source, std::nullopt);
}

void WorkloadReader::begin_pass(const std::optional<CgroupPath>& kubepods, bool iterator) {
  table_ = nullptr;
  if (version_ == CgroupVersion::kV1 || !iterator) {
    iterator_.reset();
    iterator_fault_ = iterator ? "cgroup v1: its counters are read from files" : "switched off";
    return;
  }
  if (!kubepods) return;
  const auto root = roots_.cgroup + "/" + kubepods->str();
  const auto now = clock_.now();
  if (root != iterator_root_) {
    iterator_.reset();
    iterator_tried_.reset();
  }
  if (!iterator_ && (!iterator_tried_ || now - *iterator_tried_ >= kIteratorRetry)) {
    iterator_tried_ = now;
    iterator_root_ = root;
    auto opened = kernel::CgroupIterator::open(root);
    if (opened) {
      iterator_ = std::move(*opened);
    } else {
      iterator_fault_ = opened.error().context;
    }
  }
  if (!iterator_) return;
  const auto table = iterator_->read();
  if (!table) {
    iterator_fault_ = table.error().context;
    iterator_.reset();  // files do meanwhile; it is tried again later
    return;
  }
  iterator_fault_.clear();
  table_ = *table;
  table_at_ = clock_.now();
}

const kernel::IteratedCgroup* WorkloadReader::iterated(const CgroupPath& path, Track& track) {
  if (table_ == nullptr) return nullptr;
  auto at = track.id == 0 ? table_->end() : table_->find(track.id);
  if (at == table_->end()) {  // not looked up yet, or made anew under the same name
    const auto id = kernel::cgroup_inode(roots_, version_, path);
    if (!id) return nullptr;
    track.id = *id;
    at = table_->find(*id);
  }
  return at == table_->end() ? nullptr : &at->second;
}

/// False: there is no such cgroup.
bool WorkloadReader::measure_cpu(const CgroupPath& path,
                                 Track& track,
                                 const kernel::IteratedCgroup* pass,
                                 WorkloadUsage& out) {
  if (pass != nullptr) {
    out.at = table_at_;
    out.cpu = track.cpu.update({out.at, pass->cpu_usage}, ceiling_);
    out.source = CounterSource::kIterator;
    works("pod cpu");
    return true;
  }
  const auto c = counters_.cpu(path);
  out.at = clock_.now();
  if (!c) {
    note("pod cpu", c.error());
    return false;
  }
  works("pod cpu");
  out.source = CounterSource::kFiles;
  out.cpu = track.cpu.update({out.at, c->usage}, ceiling_);
  return true;
}

void WorkloadReader::measure_throttle(const CgroupPath& path,
                                      Track& track,
                                      const kernel::IteratedCgroup* pass,
                                      WorkloadUsage& out) {
  if (pass != nullptr && pass->throttle) {
    out.throttled = track.throttle.update(pass->throttle->periods, pass->throttle->throttled);
    works("throttling");
    return;
  }
  const auto t = counters_.throttle(path);
  if (!t) return note("throttling", t.error());
  works("throttling");
  out.throttled = track.throttle.update(t->periods, t->throttled);
}

void WorkloadReader::measure_memory(const CgroupPath& path, WorkloadUsage& out) {
  const auto mem = counters_.memory(path);
  if (!mem) return note("pod memory", mem.error());
  works("pod memory");
  out.memory = mem->without_cache();
  out.memory_with_cache = mem->with_cache();
  const auto use = counters_.memory_usage(path);
  if (!use) return note("pod memory", use.error());
  out.working_set = Bytes{std::max<std::int64_t>(0, use->v - mem->inactive_file.v)};
}

void WorkloadReader::measure_io(const CgroupPath& path, Track& track, WorkloadUsage& out) {
  const auto io = counters_.io(path);
  if (!io) return note("pod io", io.error());
  works("pod io");
  out.io = track.io.update(clock_.now(), *io);
}

void WorkloadReader::measure_stalls(const CgroupPath& path,
                                    Track& track,
                                    const kernel::IteratedCgroup* pass,
                                    WorkloadUsage& out) {
  if (pass != nullptr && pass->pressure) {
    const auto& p = *pass->pressure;
    out.stalls.cpu = track.cpu_stall.update(table_at_, StallTotals{p.cpu_some, p.cpu_full});
    out.stalls.memory =
        track.memory_stall.update(table_at_, StallTotals{p.memory_some, p.memory_full});
    out.stalls.io = track.io_stall.update(table_at_, StallTotals{p.io_some, p.io_full});
    works("pod psi");
    return;
  }
  const auto read = [&](std::string_view resource, StallRate& rate) -> std::optional<StallShare> {
    const auto psi = counters_.pressure(path, resource);
    if (!psi) {
      note("pod psi", psi.error());
      return std::nullopt;
    }
    works("pod psi");
    return rate.update(clock_.now(), *psi);
  };
  out.stalls.cpu = read("cpu", track.cpu_stall);
  out.stalls.memory = read("memory", track.memory_stall);
  out.stalls.io = read("io", track.io_stall);
}

WorkloadUsage WorkloadReader::measure(const CgroupPath& path) {
  WorkloadUsage out;
  auto& track = tracks_[path];
  const auto* pass = iterated(path, track);
  if (!measure_cpu(path, track, pass, out)) {
    tracks_.erase(path);
    return out;
  }
  measure_throttle(path, track, pass, out);
  measure_memory(path, out);
  measure_io(path, track, out);
  measure_stalls(path, track, pass, out);
  return out;
}

void WorkloadReader::forget(const CgroupPath& path) {
  tracks_.erase(path);
  counters_.forget(path);
}

void WorkloadReader::keep_only(const std::set<CgroupPath>& alive) {
  std::erase_if(tracks_, [&](const auto& t) {
    if (alive.contains(t.first)) return false;
    counters_.forget(t.first);
    return true;
  });
}

}  // namespace koordlet
