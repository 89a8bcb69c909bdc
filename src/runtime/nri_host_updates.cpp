// What a plugin wants of containers that run.
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "net/grpc_status.hpp"
#include "runtime/nri_host_impl.hpp"

namespace koordlet::runtime {
namespace asio = boost::asio;
using reactor::use_ec;
namespace {

constexpr std::size_t kMostWaiting = 20'000;

/// The runtime is away, restarts, or does not know the container yet.
bool may_pass(const Error& error) {
  return error.code == Errc::kBusy || error.code == Errc::kIo || error.code == Errc::kNotFound;
}

}  // namespace

asio::awaitable<void> NriHost::answer_updates(Updates updates, Reply reply) {
  const auto failed = co_await carry_out(std::move(updates));
  reply({net::kStatusOk, {}, encode_failed_updates(failed)});
}

/// Those that failed for good. What waits for a container already comes first: the new update is
/// laid over it.
asio::awaitable<NriHost::Updates> NriHost::carry_out(Updates updates) {
  Updates failed;
  for (auto& update : updates) {
    if (const auto at = waiting_.find(update.container_id); at != waiting_.end()) {
      at->second.resources = merged(std::move(at->second.resources), update.resources);
      continue;
    }
    const auto done = co_await deps_.update(update);
    const auto state = co_await asio::this_coro::cancellation_state;
    if (reactor::is_stopped(state)) break;
    if (done) {
      ++status_.updates;
    } else if (!wait_with(update, done.error())) {
      ++status_.updates_failed;
      failed.push_back(std::move(update));
    }
  }
  co_return failed;
}

/// false: the error will not pass.
bool NriHost::wait_with(HookUpdate update, const Error& why) {
  if (!session_ || !may_pass(why) || waiting_.size() >= kMostWaiting) return false;
  if (deps_.is_known && !deps_.is_known(update.container_id)) return false;
  const auto id = update.container_id;
  const auto [at, is_new] = waiting_.try_emplace(id, update);
  if (!is_new)  // a newer one came while this one was tried
    at->second.resources = merged(std::move(update.resources), at->second.resources);
  if (!std::exchange(retrying_, true)) tasks_.spawn("retry", carry_out_later());
  return true;
}

asio::awaitable<void> NriHost::carry_out_later() {
  struct Flag {
    bool& on;
    ~Flag() { on = false; }
  };
  const Flag flag{retrying_};
  asio::steady_timer pause{ex_};
  while (!waiting_.empty()) {
    pause.expires_after(options_.retry);
    co_await pause.async_wait(use_ec);
    auto state = co_await asio::this_coro::cancellation_state;
    if (reactor::is_stopped(state)) co_return;
    std::vector<std::string> ids;
    for (const auto& [id, update] : waiting_) ids.push_back(id);
    for (const auto& id : ids) {
      const auto at = waiting_.find(id);
      if (at == waiting_.end()) continue;
      const auto tried = at->second;
      const auto done = co_await deps_.update(tried);
      state = co_await asio::this_coro::cancellation_state;
      if (reactor::is_stopped(state)) co_return;
      const auto now = waiting_.find(id);
      if (now == waiting_.end() || !(now->second == tried)) continue;  // gone, or more is wanted
      if (done) {
        ++status_.updates;
        waiting_.erase(now);
      } else if (!may_pass(done.error()) || (deps_.is_known && !deps_.is_known(id))) {
        ++status_.updates_failed;
        waiting_.erase(now);
      } else if (done.error().code != Errc::kNotFound) {
        break;  // the runtime is away: the others would meet the same
      }
    }
  }
}

}  // namespace koordlet::runtime
