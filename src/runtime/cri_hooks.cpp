#include "runtime/cri_hooks.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/cri_hook_messages.hpp"
#include "runtime/nri_check.hpp"

namespace koordlet::runtime {
namespace asio = boost::asio;
namespace {

constexpr std::array<std::string_view, 2> kServices{"/runtime.v1.RuntimeService/",
                                                    "/runtime.v1alpha2.RuntimeService/"};
constexpr std::array<std::string_view, 8> kMethods{"RunPodSandbox",
                                                   "StopPodSandbox",
                                                   "RemovePodSandbox",
                                                   "CreateContainer",
                                                   "StartContainer",
                                                   "UpdateContainerResources",
                                                   "StopContainer",
                                                   "RemoveContainer"};

/// "" when the path is no method that hooks see.
std::string_view method_of(std::string_view path) {
  for (const auto service : kServices) {
    if (!path.starts_with(service)) continue;
    path.remove_prefix(service.size());
    return std::find(kMethods.begin(), kMethods.end(), path) == kMethods.end() ? "" : path;
  }
  return "";
}

}  // namespace

bool CriHookEditor::wants(std::string_view path) const { return !method_of(path).empty(); }

void CriHookEditor::note_failure(const Error& error) {
  ++counters_.failures;
  counters_.last_failure = error.context;
}

const HookContainer* CriHookEditor::find_container(const std::string& id) {
  const auto at = containers_.find(id);
  if (at != containers_.end() && pods_.contains(at->second.pod_id)) return &at->second;
  ++counters_.unknown;
  return nullptr;
}

asio::awaitable<CriHookEditor::Edited> CriHookEditor::edit(std::string path, std::string message) {
  const std::string method{method_of(path)};
  Edited out;
  if (method == "CreateContainer") {
    out = co_await create(std::move(message));
  } else if (method == "UpdateContainerResources") {
    out = co_await update(std::move(message));
  } else if (!method.starts_with("Remove")) {
    co_await tell(method, std::move(message));
  }
  co_return out;
}

/// The message with a sound answer in it; nullopt: the failure is counted.
template <class Answer>
CriHookEditor::Edited CriHookEditor::apply(const Result<Answer>& answer,
                                           Result<void> (*check)(const Answer&),
                                           Result<std::string> (*adjusted)(std::string,
                                                                           const Answer&),
                                           std::string message) {
  const auto sound = answer ? check(*answer) : Result<void>{answer.error()};
  if (!sound) {
    note_failure(sound.error());
    return std::nullopt;
  }
  auto made = adjusted(std::move(message), *answer);
  if (made) return std::move(*made);
  note_failure(made.error());
  return std::nullopt;
}

asio::awaitable<CriHookEditor::Edited> CriHookEditor::create(std::string message) {
  Edited out;
  auto read = parse_create_container(message);
  if (!read) {
    ++counters_.damaged;
    co_return out;
  }
  // RunPodSandbox said more of it than the copy that comes with the container.
  if (const auto known = pods_.find(read->pod.id); known != pods_.end())
    read->pod.runtime_handler = known->second.runtime_handler;
  ++counters_.asked;
  const auto answer =
      co_await hooks_.create_container(std::move(read->pod), std::move(read->container));
  out = apply(answer, check_adjustment, adjusted_create_container, std::move(message));
  co_return out;
}

asio::awaitable<CriHookEditor::Edited> CriHookEditor::update(std::string message) {
  Edited out;
  const auto read = parse_update_container(message);
  if (!read) {
    ++counters_.damaged;
    co_return out;
  }
  const auto* container = find_container(read->container_id);
  if (container == nullptr) co_return out;
  ++counters_.asked;
  const auto answer =
      co_await hooks_.update_container(pods_.at(container->pod_id), *container, read->resources);
  out = apply(answer, check_resources, adjusted_update_container, std::move(message));
  co_return out;
}

asio::awaitable<void> CriHookEditor::tell(std::string method, std::string message) {
  Result<void> told;
  if (method == "RunPodSandbox") {
    auto pod = parse_run_pod_sandbox(message);
    if (!pod) {
      ++counters_.damaged;
      co_return;
    }
    ++counters_.asked;
    told = co_await hooks_.before(HookEvent::kRunPod, std::move(*pod), std::nullopt);
  } else {
    const auto id = parse_id(message);
    if (!id) {
      ++counters_.damaged;
      co_return;
    }
    if (method == "StopPodSandbox") {
      const auto at = pods_.find(*id);
      if (at == pods_.end()) {
        ++counters_.unknown;
        co_return;
      }
      ++counters_.asked;
      told = co_await hooks_.before(HookEvent::kStopPod, at->second, std::nullopt);
    } else {
      const auto* container = find_container(*id);
      if (container == nullptr) co_return;
      ++counters_.asked;
      const auto& pod = pods_.at(container->pod_id);
      if (method == "StopContainer") {
        told = co_await hooks_.stopping(pod, *container);
      } else {
        told = co_await hooks_.before(HookEvent::kStartContainer, pod, *container);
      }
    }
  }
  if (!told) note_failure(told.error());
}

void CriHookEditor::answered(std::string_view path,
                             std::string_view message,
                             std::string_view answer) {
  const auto method = method_of(path);
  if (method == "RunPodSandbox" || method == "CreateContainer") {
    const auto id = parse_id(answer);
    if (!id) return;
    if (method == "RunPodSandbox") {
      auto pod = parse_run_pod_sandbox(message);
      if (!pod) return;
      pod->id = *id;
      pods_[*id] = std::move(*pod);
    } else if (auto made = parse_create_container(message)) {
      made->container.id = *id;
      made->container.state = HookContainer::State::kCreated;
      pods_.try_emplace(made->pod.id, made->pod);
      containers_[*id] = std::move(made->container);
    }
    return;
  }
  const auto id = parse_id(message);
  if (!id) return;
  if (method == "RemovePodSandbox") {
    pods_.erase(*id);
    std::erase_if(containers_, [&](const auto& c) { return c.second.pod_id == *id; });
    return;
  }
  if (method == "RemoveContainer") {
    containers_.erase(*id);
    return;
  }
  const auto at = containers_.find(*id);
  if (at == containers_.end()) return;
  if (method == "StartContainer") at->second.state = HookContainer::State::kRunning;
  if (method == "StopContainer") at->second.state = HookContainer::State::kStopped;
  if (method != "UpdateContainerResources") return;
  if (const auto read = parse_update_container(message))
    at->second.resources = merged(at->second.resources, read->resources);
}

void CriHookEditor::rebuild(const HookInventory& inventory) {
  pods_.clear();
  containers_.clear();
  for (const auto& pod : inventory.pods) pods_[pod.id] = pod;
  for (const auto& container : inventory.containers) containers_[container.id] = container;
}

}  // namespace koordlet::runtime
