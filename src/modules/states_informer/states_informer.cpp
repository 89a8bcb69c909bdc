#include "modules/states_informer/states_informer.hpp"

#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "modules/states_informer/api_source.hpp"
#include "modules/states_informer/files_source.hpp"
#include "modules/states_informer/kubelet_source.hpp"
#include "modules/states_informer/state_keeper.hpp"
#include "modules/states_informer/together.hpp"
#include "modules/states_informer/tree_watch.hpp"
#include "reactor/task_group.hpp"

namespace koordlet {
namespace asio = boost::asio;
namespace {

using reactor::is_stopped;
using reactor::use_ec;

constexpr std::chrono::seconds kKubeletConfig{60};
constexpr std::chrono::seconds kKubeletConfigRetry{5};  // until the first answer

}  // namespace

struct StatesInformer::Impl {
  Impl(asio::any_io_executor executor,
       Config c,
       Remote r,
       kernel::Cgroups& cgroups,
       kernel::HostRoots roots,
       const Clock& clock,
       reactor::Worker* helper)
      : ex{std::move(executor)},
        config{std::move(c)},
        remote{r},
        keeper{std::move(roots), cgroups.version()},
        source{make_source(clock, helper)},
        tree{ex,
             cgroups,
             clock,
             config.rescan_interval,
             [this]() -> const auto& {const bool had = keeper.layout().has_value();
  keeper.find_layout();
  if (!had && keeper.layout()) publish();
  return keeper.layout();
}, [this] {
  source->on_tree_change();
  notify();
}
}  // namespace koordlet
{}

std::unique_ptr<states::Source> make_source(const Clock& clock, reactor::Worker* helper);
void notify() {
  if (changed) changed();
}
void publish();
asio::awaitable<void> follow_kubelet_config();

asio::any_io_executor ex;
Config config;
Remote remote;
std::function<void()> changed;
states::StateKeeper keeper;
states::ApiSource* api_source = nullptr;  // the source, when it is one
std::unique_ptr<states::Source> source;
states::TreeWatch tree;
std::optional<k8s::KubeletConfig> kubelet;
}
;

std::unique_ptr<states::Source> StatesInformer::Impl::make_source(const Clock& clock,
                                                                  reactor::Worker* helper) {
  const auto on_change = [this] { publish(); };
  const states::FilesSource::Config files{config.folder,
                                          config.max_manifest_bytes,
                                          config.node_name,
                                          config.settle,
                                          config.rescan_interval};
  switch (config.source) {
    case StatesSource::kKubernetes: {
      states::ApiSource::Config api;
      api.node_name = config.node_name;
      api.reflector = config.reflector;
      auto made = std::make_unique<states::ApiSource>(
          ex, api, *remote.api, clock, helper, remote.state, on_change);
      api_source = made.get();
      return made;
    }
    case StatesSource::kKubelet: {
      states::KubeletSource::Config kubelet_source;
      kubelet_source.files = files;
      kubelet_source.node_name = config.node_name;
      kubelet_source.sync = config.kubelet_sync;
      return std::make_unique<states::KubeletSource>(
          ex, kubelet_source, *remote.kubelet, clock, helper, on_change);
    }
    case StatesSource::kFiles:
      break;
  }
  return std::make_unique<states::FilesSource>(ex, files, clock, helper, on_change);
}

void StatesInformer::Impl::publish() {
  auto content = source->content(keeper.layout(), *keeper.state());
  // kubelet knows its own policy best; the annotation is what another agent once wrote down.
  const auto policy = kubelet ? kubelet_cpu_policy(kubelet->cpu_manager_policy.value_or(""))
                              : KubeletCpuPolicy::kUnknown;
  if (content.node && policy != KubeletCpuPolicy::kUnknown && content.node->cpu_policy != policy) {
    Node node = *content.node;
    node.cpu_policy = policy;
    const auto& before = keeper.state()->node;
    content.node =
        before && *before == node ? before : std::make_shared<const Node>(std::move(node));
  }
  std::vector<std::string> extra;
  if (auto fault = tree.fault(); !fault.empty()) extra.push_back(std::move(fault));
  if (keeper.publish(std::move(content), extra)) notify();
}

asio::awaitable<void> StatesInformer::Impl::follow_kubelet_config() {
  asio::steady_timer timer{ex};
  for (;;) {
    if (remote.kubelet != nullptr) {
      auto asked = co_await remote.kubelet->configz();
      if (is_stopped(co_await asio::this_coro::cancellation_state)) co_return;
      if (asked) {
        kubelet = std::move(*asked);
        publish();
      }
    }
    timer.expires_after(kubelet ? kKubeletConfig : kKubeletConfigRetry);
    co_await timer.async_wait(use_ec);
    if (is_stopped(co_await asio::this_coro::cancellation_state)) co_return;
  }
}

StatesInformer::StatesInformer(asio::any_io_executor ex,
                               Config config,
                               Remote remote,
                               kernel::Cgroups& cgroups,
                               kernel::HostRoots roots,
                               const Clock& clock,
                               reactor::Worker* helper)
    : impl_{std::make_unique<Impl>(
          std::move(ex), std::move(config), remote, cgroups, std::move(roots), clock, helper)} {}

StatesInformer::~StatesInformer() = default;

Result<void> StatesInformer::load() {
  impl_->keeper.find_layout();
  if (auto loaded = impl_->source->load(); !loaded) return loaded.error();
  impl_->publish();
  return {};
}

asio::awaitable<void> StatesInformer::run() {
  std::vector<std::pair<std::string, asio::awaitable<void>>> parts;
  parts.emplace_back("states_informer/source", impl_->source->run());
  parts.emplace_back("states_informer/tree", impl_->tree.run());
  parts.emplace_back("states_informer/kubelet", impl_->follow_kubelet_config());
  co_await states::run_together(impl_->ex, std::move(parts));
}

std::shared_ptr<const NodeState> StatesInformer::state() const { return impl_->keeper.state(); }

void StatesInformer::on_change(std::function<void()> f) { impl_->changed = std::move(f); }

std::optional<kernel::CgroupLayout> StatesInformer::layout() const {
  return impl_->keeper.layout();
}

std::vector<states::ResourceHealth> StatesInformer::health() const {
  return impl_->source->health();
}

const std::string& StatesInformer::node_uid() const {
  static const std::string unknown;
  return impl_->api_source != nullptr ? impl_->api_source->node_uid() : unknown;
}

const std::optional<k8s::KubeletConfig>& StatesInformer::kubelet_config() const {
  return impl_->kubelet;
}

}  // namespace koordlet
