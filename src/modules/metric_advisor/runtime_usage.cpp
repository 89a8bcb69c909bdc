#include <set>

#include <fmt/format.h>

#include "modules/metric_advisor/impl.hpp"

namespace koordlet {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kMostDockerCalls = 32;  // a pass: Docker is asked for each container alone

bool is_docker(const std::string& owner) { return owner.starts_with("docker://"); }

std::string id_of(const std::string& owner) { return owner.substr(owner.find("://") + 3); }

}  // namespace

/// The runtime's own clock times its counter: the rate is taken between two of its stamps.
void MetricAdvisor::Impl::take_runtime_stats(const runtime::ContainerStats& stats,
                                             CounterSource source) {
  const auto is_it = [&](const std::string& owner) { return id_of(owner) == stats.id; };
  const auto owner = std::find_if(unread.begin(), unread.end(), is_it);
  if (owner == unread.end()) return;
  ContainerUsage usage;
  usage.at = clock.now();
  usage.source = source;
  if (stats.cpu_usage) {
    const MonoTime stamp{
        std::chrono::duration_cast<MonoTime::duration>(stats.at.time_since_epoch())};
    usage.cpu = runtime_cpu[*owner].update({stamp, *stats.cpu_usage}, ceiling);
  }
  usage.memory = stats.memory_rss;
  usage.memory_with_cache = stats.memory_usage;
  usage.working_set = stats.memory_working_set;
  emit_workload("container", *owner, usage);
  containers[*owner] = usage;
}

asio::awaitable<void> MetricAdvisor::Impl::ask_runtime() {
  if (unread.empty()) co_return;
  const bool any_cri = !std::all_of(unread.begin(), unread.end(), is_docker);
  if (cri && any_cri) {
    const auto all = co_await cri->list_container_stats();
    if (all) {
      ok("container runtime (CRI)");
      for (const auto& stats : *all) take_runtime_stats(stats, CounterSource::kCri);
    } else {
      fault("container runtime (CRI)", all.error());
    }
  }
  if (!docker) co_return;
  std::size_t calls = 0;
  const auto asked = unread;
  for (const auto& owner : asked) {
    if (!is_docker(owner) || ++calls > kMostDockerCalls) continue;
    const auto stats = co_await docker->stats(id_of(owner));
    if (stats) {
      ok("container runtime (Docker)");
      take_runtime_stats(*stats, CounterSource::kDocker);
    } else {
      fault("container runtime (Docker)", stats.error());
      if (stats.error().code != Errc::kNotFound) co_return;
    }
  }
}

void MetricAdvisor::use_runtimes(const asio::any_io_executor& ex) {
  auto& m = *impl_;
  if (!m.config.cri_socket.empty()) {
    runtime::CriClient::Options options;
    options.socket = m.config.cri_socket;
    m.cri = std::make_unique<runtime::CriClient>(ex, options);
  }
  if (!m.config.docker_socket.empty()) {
    runtime::DockerClient::Options options;
    options.socket = m.config.docker_socket;
    m.docker = std::make_unique<runtime::DockerClient>(ex, options);
  }
}

}  // namespace koordlet
