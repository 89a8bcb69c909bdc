#include "runtime/cri_hooks.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

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
constexpr const char* kSkipLabel = "runtimeproxy.koordinator.sh/skip-hookserver";

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

const CriContainer* CriHookEditor::find_container(const std::string& id) {
  const auto* found = inventory_->find_container(id);
  if (found != nullptr && inventory_->find_pod(found->is.pod_id) != nullptr) return found;
  ++counters_.unknown;
  return nullptr;
}

bool CriHookEditor::is_asked_about(const HookPod& pod) const {
  const auto at = pod.labels.find(kSkipLabel);
  return at == pod.labels.end() || at->second != "true";
}

HookContainer CriHookEditor::as_told(const CriContainer& container) const {
  auto out = container.is;
  if (!container.told_as.empty() && container.session == hooks_.session())
    out.id = container.told_as;
  return out;
}

asio::awaitable<CriHookEditor::Edit> CriHookEditor::edit(std::uint64_t call,
                                                         std::string path,
                                                         std::string message) {
  const auto method = method_of(path);
  Edit out;
  if (method == "CreateContainer") {
    out = co_await create(call, std::move(message));
  } else if (method == "UpdateContainerResources") {
    out = co_await update(call, std::move(message));
  } else if (method == "StopContainer") {
    co_await stop(std::move(message));
  }
  co_return out;
}

/// The message with a sound answer in it. One that cannot be used is counted, and the request
/// passes as it is.
template <class Answer>
CriHookEditor::Edit CriHookEditor::apply(const Result<std::optional<Answer>>& answer,
                                         Result<void> (*check)(const Answer&),
                                         Result<std::string> (*adjusted)(std::string,
                                                                         const Answer&),
                                         std::string message) {
  if (!answer) {
    ++counters_.refused;
    counters_.last_failure = answer.error().context;
    return answer.error();
  }
  std::optional<std::string> out;
  if (!*answer) return out;
  if (const auto sound = check(**answer); !sound) {
    note_failure(sound.error());
    return out;
  }
  auto made = adjusted(std::move(message), **answer);
  if (made) {
    out = std::move(*made);
  } else {
    note_failure(made.error());
  }
  return out;
}

/// Of a call that may be over by now.
void CriHookEditor::note_answer(std::uint64_t call, HookAdjustment answer) {
  if (const auto at = asked_.find(call); at != asked_.end())
    at->second.adjusted = std::move(answer);
}

asio::awaitable<CriHookEditor::Edit> CriHookEditor::create(std::uint64_t call,
                                                           std::string message) {
  Edit out;
  auto read = parse_create_container(message);
  if (!read) {
    ++counters_.damaged;
    co_return out;
  }
  // RunPodSandbox said more of it than the copy that comes with the container.
  if (const auto* known = inventory_->find_pod(read->pod.id))
    read->pod.runtime_handler = known->runtime_handler;
  if (hooks_.session() == 0 || !is_asked_about(read->pod)) co_return out;
  ++counters_.asked;
  read->container.id = fmt::format("new-{}", call);
  read->container.state = HookContainer::State::kCreated;
  asked_[call] = {hooks_.session(), read->container, std::nullopt};
  const auto answer = co_await hooks_.create_container(std::move(read->pod), read->container);
  out = apply(answer, check_adjustment, adjusted_create_container, std::move(message));
  if (answer && *answer) note_answer(call, **answer);
  co_return out;
}

asio::awaitable<CriHookEditor::Edit> CriHookEditor::update(std::uint64_t call,
                                                           std::string message) {
  Edit out;
  const auto read = parse_update_container(message);
  if (!read) {
    ++counters_.damaged;
    co_return out;
  }
  const auto* container = find_container(read->container_id);
  if (container == nullptr) co_return out;
  const auto& pod = *inventory_->find_pod(container->is.pod_id);
  if (hooks_.session() == 0 || !is_asked_about(pod)) co_return out;
  ++counters_.asked;
  asked_[call] = {};
  const auto answer = co_await hooks_.update_container(pod, as_told(*container), read->resources);
  out = apply(answer, check_resources, adjusted_update_container, std::move(message));
  if (answer && *answer) {
    HookAdjustment told;
    told.resources = **answer;
    note_answer(call, std::move(told));
  }
  co_return out;
}

asio::awaitable<void> CriHookEditor::stop(std::string message) {
  const auto id = parse_id(message);
  if (!id) {
    ++counters_.damaged;
    co_return;
  }
  const auto* container = find_container(*id);
  if (container == nullptr || hooks_.session() == 0) co_return;
  const auto& pod = *inventory_->find_pod(container->is.pod_id);
  if (!is_asked_about(pod)) co_return;
  ++counters_.asked;
  co_await hooks_.stopping(pod, as_told(*container));
}

void CriHookEditor::created(const net::GrpcEnd& call, Asked asked) {
  const auto id = call.answer ? parse_id(*call.answer) : Result<std::string>{Error{}};
  auto made = parse_create_container(call.message);
  if (!made) return;
  if (!id) {
    // Whoever was asked has it among the containers.
    if (asked.adjusted && asked.session == hooks_.session())
      hooks_.happened(HookEvent::kRemoveContainer, made->pod, &asked.container);
    return;
  }
  CriContainer container;
  container.is = std::move(made->container);
  container.is.id = *id;
  container.is.state = HookContainer::State::kCreated;
  const bool known = asked.adjusted && asked.session == hooks_.session();
  if (asked.adjusted)
    container.is.resources = merged(container.is.resources, asked.adjusted->resources);
  if (known) {
    container.told_as = asked.container.id;
    container.session = asked.session;
  }
  if (inventory_->find_pod(made->pod.id) == nullptr) inventory_->put_pod(made->pod);
  inventory_->put_container(container);
  const auto& pod = *inventory_->find_pod(made->pod.id);
  if (!is_asked_about(pod)) return;
  if (known) {
    const auto told = as_told(container);
    hooks_.happened(HookEvent::kPostCreateContainer, pod, &told);
  } else {
    ++counters_.missed;
    hooks_.missed(pod, container.is);
  }
}

void CriHookEditor::started_pod(const net::GrpcEnd& call) {
  const auto id = parse_id(*call.answer);
  auto pod = parse_run_pod_sandbox(call.message);
  if (!id || !pod) return;
  pod->id = *id;
  inventory_->put_pod(*pod);
  pod_event(HookEvent::kRunPod, *id);
}

void CriHookEditor::updated(const net::GrpcEnd& call, const Asked& asked) {
  const auto read = parse_update_container(call.message);
  if (!read) return;
  auto* container = inventory_->find_container(read->container_id);
  if (container == nullptr) return;
  auto& resources = container->is.resources;
  resources = merged(resources, read->resources);
  if (asked.adjusted) resources = merged(resources, asked.adjusted->resources);
}

void CriHookEditor::pod_event(HookEvent event, const std::string& id) {
  const auto* pod = inventory_->find_pod(id);
  if (pod != nullptr && is_asked_about(*pod)) hooks_.happened(event, *pod, nullptr);
}

void CriHookEditor::container_event(std::string_view method, const std::string& id) {
  auto* container = inventory_->find_container(id);
  if (container == nullptr) return;
  const auto* pod = inventory_->find_pod(container->is.pod_id);
  const bool asked = pod != nullptr && is_asked_about(*pod);
  if (method == "StopContainer") {
    container->is.state = HookContainer::State::kStopped;
  } else if (method == "StartContainer") {
    container->is.state = HookContainer::State::kRunning;
    const auto told = as_told(*container);
    if (asked) hooks_.happened(HookEvent::kPostStartContainer, *pod, &told);
  } else if (method == "RemoveContainer") {
    const auto told = as_told(*container);
    if (asked) hooks_.happened(HookEvent::kRemoveContainer, *pod, &told);
    inventory_->erase_container(id);
  }
}

void CriHookEditor::ended(const net::GrpcEnd& call) {
  const auto method = method_of(call.path);
  Asked asked;
  if (const auto at = asked_.find(call.number); at != asked_.end()) {
    asked = std::move(at->second);
    asked_.erase(at);
  }
  if (!call.in_time) asked.adjusted.reset();
  if (method == "CreateContainer") return created(call, std::move(asked));
  if (!call.answer) return;
  if (method == "RunPodSandbox") return started_pod(call);
  if (method == "UpdateContainerResources") return updated(call, asked);
  const auto id = parse_id(call.message);
  if (!id) return;
  if (method == "StopPodSandbox") return pod_event(HookEvent::kStopPod, *id);
  if (method != "RemovePodSandbox") return container_event(method, *id);
  pod_event(HookEvent::kRemovePod, *id);
  inventory_->erase_pod(*id);
}

}  // namespace koordlet::runtime
