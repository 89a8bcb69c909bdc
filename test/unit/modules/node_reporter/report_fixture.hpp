#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "modules/node_reporter/report_build.hpp"

namespace koordlet::test {

using namespace std::chrono_literals;

inline constexpr std::int64_t kMi = 1024 * 1024;
inline constexpr std::int64_t kGi = 1024 * kMi;

inline std::shared_ptr<const Pod> pod(std::string ns,
                                      std::string name,
                                      KubeQos kube_qos = KubeQos::kBurstable,
                                      std::optional<int> priority = std::nullopt) {
  auto p = std::make_shared<Pod>();
  p->uid = "uid-" + name;
  p->ns = std::move(ns);
  p->name = std::move(name);
  p->phase = PodPhase::kRunning;
  p->kube_qos = kube_qos;
  p->priority = priority;
  return p;
}

/// A node at one moment: what is not set has no samples.
struct ReportBed {
  NodeState state;
  WallTime wall{std::chrono::seconds{1'700'000'000}};
  store::StoredTime now{1'700'000'000'000};
  /// Constant value and how long ago the series began and ended.
  struct Series {
    std::string kind, owner;
    double value = 0;
    std::chrono::milliseconds began{3600s}, ended{500};
  };
  std::vector<Series> series;

  ReportBed() { state.pods_at = MonoTime{1s}; }
  void set(std::string kind,
           std::string owner,
           double value,
           std::chrono::milliseconds began = 3600s,
           std::chrono::milliseconds ended = 500ms) {
    series.push_back({std::move(kind), std::move(owner), value, began, ended});
  }
  void set_node(double milli, double bytes) {
    set("node_cpu_usage", "", milli);
    set("node_memory_usage", "", bytes);
  }
  void set_pod(const std::string& name, double milli, double bytes) {
    set("pod_cpu_usage", "uid-" + name, milli);
    set("pod_memory_usage", "uid-" + name, bytes);
  }
  void spec(NodeMetricSpec s) { state.metric = std::make_shared<NodeMetricSpec>(std::move(s)); }
  void host_apps(std::vector<HostApplication> apps) {
    auto slo = std::make_shared<NodeSlo>();
    slo->host_applications = std::move(apps);
    state.slo = slo;
  }

  std::optional<store::WindowAggregate> answer(const ReportQuestion& question) const {
    for (const auto& s : series) {
      if (s.kind != question.first.kind || s.owner != question.first.owner) continue;
      const std::chrono::milliseconds window = question.second;
      if (s.ended > window) return std::nullopt;
      store::WindowAggregate out;
      out.count = 2;
      out.mean = s.value;
      const auto whole = static_cast<std::int64_t>(s.value);
      out.p50 = whole + 1;
      out.p90 = whole + 2;
      out.p95 = whole + 3;
      out.p99 = whole + 4;
      out.first_at = now - std::min(window, s.began);
      out.last_at = now - s.ended;
      return out;
    }
    return std::nullopt;
  }
  ReportInput input() const {
    ReportInput in;
    in.state = std::make_shared<const NodeState>(state);
    in.wall = wall;
    in.now = now;
    in.questions = report_questions(state);
    for (const auto& q : in.questions) in.answers.push_back(answer(q));
    return in;
  }
};

}  // namespace koordlet::test
