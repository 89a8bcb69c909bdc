// A plugin's connection from its registration to its end.
#include <algorithm>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "base/parse.hpp"
#include "runtime/nri_check.hpp"
#include "runtime/nri_host_impl.hpp"

namespace koordlet::runtime {
namespace asio = boost::asio;
using asio::steady_timer;
using reactor::use_ec;
using std::chrono::milliseconds;
namespace {

constexpr milliseconds kLeastSync{5'000};  // a node's containers take longer than one hook
constexpr std::size_t kShown = 200;

}  // namespace

/// The connection's whole life.
asio::awaitable<void> NriHost::serve(std::shared_ptr<Session> session) {
  status_.why = "connected, not registered";  // no news: a look at the socket says as much
  session->wake.expires_after(options_.register_time);
  if (!session->plugin) co_await session->wake.async_wait(use_ec);
  auto state = co_await asio::this_coro::cancellation_state;
  bool stop = reactor::is_stopped(state);
  Result<void> met;
  if (!session->plugin)
    met = session->peer->failure().value_or(Error{Errc::kBusy, "no registration in time"});
  else if (!stop)
    met = co_await introduce(session);
  state = co_await asio::this_coro::cancellation_state;
  stop = reactor::is_stopped(state);
  while (met && !stop && session->is_open()) {
    session->wake.expires_at(steady_timer::time_point::max());
    co_await session->wake.async_wait(use_ec);
    state = co_await asio::this_coro::cancellation_state;
    stop = reactor::is_stopped(state);
  }
  auto why = met ? std::string{"ended"} : met.error().context;
  if (met && session->peer->failure()) why = session->peer->failure()->context;
  session->ready = false;
  session->peer.reset();
  if (session_ == session) {
    session_.reset();
    waiting_.clear();  // the next one is told what there is
  }
  status_.plugin.clear();
  changed(false, printable(why, kShown));
}

asio::awaitable<Result<HookInventory>> NriHost::list(std::shared_ptr<Session> session) {
  for (;;) {
    auto listed = co_await deps_.inventory();
    if (listed) co_return listed;
    auto state = co_await asio::this_coro::cancellation_state;
    bool over = reactor::is_stopped(state) || !session->is_open();
    if (over) co_return listed;
    changed(false, "the runtime does not say what it has: " + listed.error().context);
    session->wake.expires_after(options_.retry);
    co_await session->wake.async_wait(use_ec);
    state = co_await asio::this_coro::cancellation_state;
    over = reactor::is_stopped(state) || !session->is_open();
    if (over) co_return listed;
  }
}

/// Who asks, what there is, and what is to be done about that.
asio::awaitable<Result<void>> NriHost::introduce(std::shared_ptr<Session> session) {
  status_.plugin = session->plugin->index + "-" + session->plugin->name;
  Result<void> ok;
  net::TtrpcRequest request{
      kNriPlugin,
      "Configure",
      encode_configure_request(options_.runtime_name, options_.runtime_version, options_.timeout),
      options_.timeout};
  const auto configured = co_await session->peer->call(std::move(request));
  if (!configured) co_return configured.error();
  const auto events = decode_configure_answer(*configured);
  if (!events) co_return events.error();
  session->events = *events;
  auto inventory = co_await list(session);
  if (!inventory) co_return inventory.error();
  auto updates = co_await synchronize(session, std::move(*inventory));
  if (!updates) co_return updates.error();
  session->ready = true;
  changed(true, {});
  for (auto& item : std::exchange(session->later, {})) {
    const auto* container = item.container ? &*item.container : nullptr;
    if (item.event) {
      happened(*item.event, item.pod, container);
    } else {
      missed(item.pod, *container);
    }
  }
  co_await carry_out(std::move(*updates));
  co_return ok;
}

asio::awaitable<Result<NriHost::Updates>> NriHost::synchronize(std::shared_ptr<Session> session,
                                                               HookInventory inventory) {
  Result<Updates> out = Updates{};
  for (auto& part : encode_synchronize_parts(inventory, options_.part_bytes)) {
    net::TtrpcRequest request{
        kNriPlugin, "Synchronize", std::move(part), std::max(options_.timeout, kLeastSync)};
    const auto answered = co_await session->peer->call(std::move(request));
    if (!answered) co_return answered.error();
    out = decode_updates(*answered);
    if (out)
      if (const auto sound = check_updates(*out); !sound) out = sound.error();
    if (!out) co_return out;
  }
  co_return out;
}

}  // namespace koordlet::runtime
