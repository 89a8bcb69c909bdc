#include "modules/status_api/interference_json.hpp"

#include <boost/json/array.hpp>

namespace koordlet::status_api {
namespace {

json::value number(const std::optional<int>& v) { return v ? json::value(*v) : nullptr; }
json::value number(const std::optional<double>& v) { return v ? json::value(*v) : nullptr; }

template <class Duration>
json::value micros(const std::optional<Duration>& t) {
  if (!t) return nullptr;
  return std::chrono::duration_cast<std::chrono::microseconds>(*t).count();
}

json::value stall(const std::optional<StallShare>& s) {
  if (!s) return nullptr;
  return json::object{{"some_percent", s->some_percent}, {"full_percent", number(s->full_percent)}};
}

json::value pod_name(const StatusView& view, std::string_view uid) {
  const auto* pod = view.state ? find_pod(*view.state, uid) : nullptr;
  return pod == nullptr ? json::value(nullptr) : text_value(full_name(*pod), {});
}

json::array micro(const InterferenceWindow& w) {
  json::array out;
  for (const auto& m : w.micro) {
    out.emplace_back(json::object{{"container", text_value(m.container, {})},
                                  {"cpi", m.cpi},
                                  {"llc_miss_ratio", number(m.llc_miss_ratio)},
                                  {"cpu_used_milli", m.used.v}});
  }
  return out;
}

json::object components(const InterferenceDegree& d) {
  json::object out;
  for (const auto c : {InterferenceComponent::kCpu,
                       InterferenceComponent::kMicro,
                       InterferenceComponent::kMemory,
                       InterferenceComponent::kIo}) {
    out[to_string(c)] = number(component_of(d, c));
  }
  return out;
}

json::object evidence(const PodInterference& p) {
  const auto& w = p.window;
  json::value ratio = nullptr;
  if (w.wait && w.run && w.run->count() > 0)
    ratio = static_cast<double>(w.wait->count()) / static_cast<double>(w.run->count());
  return {{"window_ms", std::chrono::duration_cast<std::chrono::milliseconds>(w.length).count()},
          {"run_us", micros(w.run)},
          {"wait_us", micros(w.wait)},
          {"wait_ratio", ratio},
          {"wait_p50_us", micros(w.wait_p50)},
          {"wait_p95_us", micros(w.wait_p95)},
          {"wait_p99_us", micros(w.wait_p99)},
          {"behind_best_effort_us", micros(w.behind_best_effort)},
          {"dispatches", w.dispatches ? json::value(*w.dispatches) : json::value(nullptr)},
          {"psi", stalls({w.cpu, w.memory, w.io})},
          {"throttled_permille", quantity(w.throttled)},
          {"cpu_used_milli", quantity(w.used)},
          {"be_used_milli", quantity(w.be_used)},
          {"cpi_z", number(p.worst_z)},
          {"micro", micro(w)}};
}

json::array culprits(const StatusView& view, const PodInterference& p) {
  json::array out;
  for (const auto& c : p.culprits) {
    out.emplace_back(json::object{{"uid", text_value(c.uid, {})},
                                  {"pod", pod_name(view, c.uid)},
                                  {"score", c.score},
                                  {"cpu_used_milli", c.used.v},
                                  {"windows", c.windows}});
  }
  return out;
}

json::value node_degree(const StatusView& view) {
  const auto& node = view.interference.node;
  if (!node) return nullptr;
  return json::object{
      {"degree", number(node->degree)},
      {"be_degree", number(node->be_degree)},
      {"interfered", node->interfered},
      {"pod", node->pod_uid.empty() ? json::value(nullptr) : pod_name(view, node->pod_uid)},
      {"pod_uid", text_or_null(node->pod_uid)},
      {"top", node->degree ? json::value(to_string(node->top)) : json::value(nullptr)},
      {"age_ms", age_ms(view, node->at)}};
}

json::object source(std::string_view name, std::string_view why_not) {
  return {{"source", name}, {"why_not_better", text_or_null(std::string{why_not})}};
}

json::array triggers(const StatusView& view) {
  json::array out;
  for (const auto& t : view.interference.triggers) {
    out.emplace_back(json::object{{"file", text_value(t.path, {})},
                                  {"trigger", text_or_null(t.trigger)},
                                  {"armed", t.fault.empty()},
                                  {"fault", text_or_null(t.fault)},
                                  {"events", t.events}});
  }
  return out;
}

}  // namespace

json::object stalls(const Stalls& s) {
  return {{"cpu", stall(s.cpu)}, {"memory", stall(s.memory)}, {"io", stall(s.io)}};
}

json::value io_rate(const std::optional<IoRate>& io) {
  if (!io) return nullptr;
  return json::object{{"read_bytes_per_second", io->read_bytes},
                      {"write_bytes_per_second", io->write_bytes},
                      {"reads_per_second", io->reads},
                      {"writes_per_second", io->writes}};
}

json::value pod_interference(const StatusView& view, std::string_view uid) {
  const auto* pods = view.interference.pods;
  if (pods == nullptr) return nullptr;
  const auto at = pods->find(std::string{uid});
  if (at == pods->end()) return nullptr;
  const auto& p = at->second;
  const auto& d = p.degree;
  const bool micro_known = component_of(d, InterferenceComponent::kMicro).has_value();
  json::array missing;
  for (const auto& m : d.missing) missing.emplace_back(m);
  return json::object{
      {"degree", number(d.degree)},
      {"be_degree", number(d.be_degree)},
      {"level", to_string(p.level)},
      {"interfered", p.interfered},
      {"since", wall_of(view, p.since)},
      {"age_ms", age_ms(view, p.window.at)},
      {"top", d.degree ? json::value(to_string(d.top)) : json::value(nullptr)},
      {"components", components(d)},
      {"micro_confirmed", micro_known ? json::value(d.micro_confirmed) : json::value(nullptr)},
      {"missing", std::move(missing)},
      {"evidence", evidence(p)},
      {"culprit_signal", text_or_null(p.culprit_signal)},
      {"culprits", culprits(view, p)}};
}

json::object interference_summary(const StatusView& view) {
  const auto& i = view.interference;
  return {{"enabled", i.enabled},
          {"window_ms", std::chrono::milliseconds{i.window}.count()},
          {"node", node_degree(view)},
          {"run_queue", source(i.run_queue_source, i.run_queue_fault)},
          {"counters", source(i.counter_source, i.counter_fault)},
          {"perf", {{"available", i.perf_fault.empty()}, {"why_not", text_or_null(i.perf_fault)}}},
          {"baselines", i.baselines},
          {"triggers", triggers(view)}};
}

net::HttpResponse interference(const StatusView& view) {
  auto body = interference_summary(view);
  json::array pods;
  if (view.interference.pods != nullptr) {
    for (const auto& [uid, p] : *view.interference.pods) {
      auto one = pod_interference(view, uid);
      auto& object = one.get_object();
      object["uid"] = text_value(uid, {});
      object["pod"] = pod_name(view, uid);
      pods.emplace_back(std::move(one));
    }
  }
  body["pods"] = std::move(pods);
  return json_response(200, std::move(body));
}

json::value node_usage(const StatusView& view) {
  if (view.node_usage == nullptr) return nullptr;
  const auto& u = *view.node_usage;
  json::array disks, networks, numa, caches;
  for (const auto& d : u.disks) {
    disks.emplace_back(json::object{{"name", text_value(d.name, {})},
                                    {"io", io_rate(d.rate)},
                                    {"busy_permille", d.busy.v},
                                    {"await_us", micros(d.await)}});
  }
  for (const auto& n : u.networks) {
    networks.emplace_back(json::object{{"name", text_value(n.name, {})},
                                       {"rx_bytes_per_second", n.rx_bytes},
                                       {"tx_bytes_per_second", n.tx_bytes},
                                       {"rx_packets_per_second", n.rx_packets},
                                       {"tx_packets_per_second", n.tx_packets},
                                       {"dropped_per_second", n.dropped},
                                       {"errors_per_second", n.errors}});
  }
  for (const auto& n : u.numa) {
    numa.emplace_back(json::object{{"node", n.node},
                                   {"cpu_used_milli", quantity(n.cpu)},
                                   {"memory_used_bytes", quantity(n.memory)}});
  }
  for (const auto& c : u.caches) {
    caches.emplace_back(
        json::object{{"group", text_or_null(c.group)},
                     {"cache_id", c.cache_id},
                     {"occupancy_bytes", integer(c.occupancy_bytes)},
                     {"total_bytes_per_second", integer(c.total_bytes_per_second)},
                     {"local_bytes_per_second", integer(c.local_bytes_per_second)}});
  }
  return json::object{{"age_ms", age_ms(view, u.at)},
                      {"psi", stalls(u.stalls)},
                      {"steal_permille", quantity(u.steal)},
                      {"disks", std::move(disks)},
                      {"networks", std::move(networks)},
                      {"numa", std::move(numa)},
                      {"caches", std::move(caches)},
                      {"cold_memory_bytes", quantity(u.cold_memory)}};
}

}  // namespace koordlet::status_api
