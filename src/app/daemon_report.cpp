#include <algorithm>

#include "app/daemon_impl.hpp"
#include "app/kubelet_cpus_file.hpp"
#include "kernel/cpu_info.hpp"

namespace koordlet::app {
namespace {

bool has_siblings(const CpuTopology& cpus) {
  std::map<int, int> threads;
  return std::any_of(
      cpus.begin(), cpus.end(), [&](const Processor& p) { return ++threads[p.core] > 1; });
}

}  // namespace

boost::asio::awaitable<Result<ReportInput>> Daemon::gather_report() {
  ReportInput input;
  input.state = states_->state();
  input.questions = report_questions(*input.state);
  input.wall = clock_.wall();
  input.now = cache_->stored_time(clock_.now());
  input.node_uid = states_->node_uid();
  auto answers = co_await cache_->aggregate_many(input.questions);
  if (!answers) co_return wrap("metric store", answers.error());
  input.answers = std::move(*answers);
  add_reclaimable(input);
  co_return input;
}

boost::asio::awaitable<Result<TopologyInput>> Daemon::gather_topology() {
  const auto model = kernel::read_cpu_model(config_.host);
  if (!model) co_return model.error();
  const auto numa = kernel::read_numa_memory(config_.host);
  if (!numa) co_return numa.error();
  const auto state = states_->state();
  TopologyInput input;
  input.cpus = topology_;
  input.basic = {model->name,
                 model->vendor,
                 has_siblings(topology_),
                 model->turbo.value_or(false),
                 model->l3_mask};
  for (const auto& [id, memory] : *numa) {
    input.numa[id] = {memory.total, memory.huge_1gi, memory.huge_2mi};
  }
  input.node = state->node;
  input.node_uid = states_->node_uid();
  if (state->node) {
    input.node_labels = state->node->labels;
    input.node_annotations = state->node->annotations;
  }
  input.pods = state->pods;
  input.kubelet_cpus = read_kubelet_cpus(config_.kubelet.cpu_manager_state).exclusive;
  input.kubelet = states_->kubelet_config();
  co_return input;
}

}  // namespace koordlet::app
