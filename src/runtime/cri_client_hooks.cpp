// What the hooks of the CRI proxy ask the runtime.
#include <boost/asio/this_coro.hpp>

#include "reactor/task_group.hpp"
#include "runtime/cri_client_impl.hpp"
#include "runtime/cri_hook_messages.hpp"

namespace koordlet::runtime {
namespace asio = boost::asio;

/// The lists name no resources. A container that went meanwhile, or of which the runtime does not
/// say more, keeps what the list said.
asio::awaitable<Result<void>> CriClient::Impl::complete(HookContainer& container) {
  Result<void> ok;
  const auto answer = co_await ask("ContainerStatus", encode_id(container.id));
  if (!answer) {
    const bool lost = answer.error().code == Errc::kBusy || answer.error().code == Errc::kIo;
    if (lost) ok = answer.error();
    co_return ok;
  }
  const auto status = parse_container_status(*answer);
  if (!status) co_return ok;
  container.resources = status->resources;
  container.oom_score_adj = status->oom_score_adj;
  co_return ok;
}

asio::awaitable<Result<HookInventory>> CriClient::Impl::inventory(Self self) {
  HookInventory out;
  const auto pods = co_await self->ask("ListPodSandbox", {});
  if (!pods) co_return pods.error();
  auto listed = parse_pod_list(*pods);
  if (!listed) co_return wrap(self->options.socket, listed.error());
  out.pods = std::move(*listed);
  const auto containers = co_await self->ask("ListContainers", {});
  if (!containers) co_return containers.error();
  auto found = parse_container_list(*containers);
  if (!found) co_return wrap(self->options.socket, found.error());
  out.containers = std::move(*found);
  for (auto& container : out.containers) {
    if (container.state == HookContainer::State::kStopped) continue;
    const auto completed = co_await self->complete(container);
    const auto state = co_await asio::this_coro::cancellation_state;
    if (reactor::is_stopped(state))
      co_return Error{Errc::kIo, self->options.socket + ": cancelled"};
    if (!completed) co_return completed.error();
  }
  co_return out;
}

asio::awaitable<Result<void>> CriClient::Impl::update(Self self,
                                                      std::string id,
                                                      HookResources resources) {
  const auto message = encode_update_container(id, resources);
  if (!message) co_return message.error();
  const auto answer = co_await self->ask("UpdateContainerResources", *message);
  Result<void> ok;
  if (!answer) ok = answer.error();
  co_return ok;
}

asio::awaitable<Result<HookInventory>> CriClient::inventory() { return Impl::inventory(impl_); }

asio::awaitable<Result<void>> CriClient::update_container(std::string id, HookResources resources) {
  return Impl::update(impl_, std::move(id), std::move(resources));
}

}  // namespace koordlet::runtime
