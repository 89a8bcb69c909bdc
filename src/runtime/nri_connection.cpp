#include "runtime/nri_connection.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/parse.hpp"
#include "net/ttrpc_peer.hpp"
#include "net/unix_connect.hpp"
#include "reactor/task_group.hpp"

namespace koordlet::runtime {
namespace asio = boost::asio;
using reactor::use_ec;
using State = NriStatus::State;
using std::chrono::milliseconds;
namespace {

constexpr const char* kService = "nri.pkg.api.v1alpha1.Runtime";
constexpr std::size_t kMostName = 63;
constexpr std::size_t kShown = 80;
constexpr std::size_t kUpdatesAtOnce = 100;  // of one UpdateContainers: about 10 KiB

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name_char(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view{"_.+-"}.find(c) != std::string_view::npos;
}

Error invalid(const char* key, std::string_view value, const char* expected) {
  return {Errc::kInvalid,
          fmt::format("{} '{}': expected {}", key, printable(value, kShown), expected)};
}

}  // namespace

const char* to_string(State state) {
  switch (state) {
    case State::kConnecting:
      return "connecting";
    case State::kRegistered:
      return "registered";
    case State::kReady:
      return "ready";
  }
  return "unknown";
}

Result<void> check(const NriOptions& o) {
  const bool named = !o.name.empty() && o.name.size() <= kMostName &&
                     std::all_of(o.name.begin(), o.name.end(), is_name_char);
  if (!named) return invalid("plugin name", o.name, "1 to 63 of A-Z a-z 0-9 _ . + -");
  if (o.index.size() != 2 || !is_digit(o.index[0]) || !is_digit(o.index[1]))
    return invalid("plugin index", o.index, "two digits");
  if (!o.socket.starts_with('/')) return invalid("socket", o.socket, "an absolute path");
  if (o.plugin.events == 0 || (o.plugin.events & ~kNriKnownEvents) != 0)
    return invalid("events", fmt::format("{:#x}", o.plugin.events), "bits of 0x7ff, at least one");
  const auto least = std::min({o.plugin.hook_timeout,
                               o.register_timeout,
                               o.update_timeout,
                               o.sync_patience,
                               o.backoff_min,
                               o.stable});
  if (least <= milliseconds{0} || o.quiet < milliseconds{0})
    return invalid("times", fmt::format("{} ms", least.count()), "more than 0");
  if (o.backoff_max < o.backoff_min) {
    return invalid(
        "backoff_max", fmt::format("{} ms", o.backoff_max.count()), "at least backoff_min");
  }
  return {};
}

Result<std::unique_ptr<NriConnection>> NriConnection::make(asio::any_io_executor ex,
                                                           NriOptions options,
                                                           NriEvents& events,
                                                           const Clock& clock) {
  if (const auto ok = check(options); !ok) return wrap("nri", ok.error());
  return std::unique_ptr<NriConnection>{
      new NriConnection{std::move(ex), std::move(options), events, clock}};
}

NriConnection::NriConnection(asio::any_io_executor ex,
                             NriOptions options,
                             NriEvents& events,
                             const Clock& clock)
    : ex_{std::move(ex)},
      options_{std::move(options)},
      clock_{clock},
      plugin_{options_.plugin, events, clock},
      wake_{ex_, asio::steady_timer::time_point::max()},
      backoff_{options_.backoff_min, options_.backoff_max, options_.seed} {
  status_.since = clock_.now();
}

NriStatus NriConnection::status() const {
  auto out = status_;
  out.runtime = plugin_.runtime();
  out.budget = plugin_.budget();
  out.events = plugin_.counters();
  out.updates_waiting = plugin_.updates().size();
  return out;
}

Result<void> NriConnection::queue(HookUpdate update) {
  if (status_.state != State::kReady) {
    return Error{Errc::kBusy,
                 fmt::format("update of {}: the runtime is not connected",
                             printable(update.container_id, kShown))};
  }
  auto ok = plugin_.updates().put(std::move(update));
  wake_.cancel();
  return ok;
}

void NriConnection::take(const net::TtrpcRequest& request, Reply reply) {
  auto out = plugin_.begin_answer(request);
  if (!out) return step_later(std::move(reply));
  answered();
  reply(std::move(*out));
}

/// A turn of the loop a step.
void NriConnection::step_later(Reply reply) {
  asio::post(ex_, [this, alive = std::weak_ptr{alive_}, reply = std::move(reply)]() mutable {
    if (alive.expired()) return;
    auto out = plugin_.step();
    if (!out) return step_later(std::move(reply));
    answered();
    reply(std::move(*out));
  });
}

void NriConnection::answered() {
  last_request_ = clock_.now();
  look();
  wake_.cancel();
}

void NriConnection::look() {
  const auto state = !registered_                ? State::kConnecting
                     : plugin_.is_synchronized() ? State::kReady
                                                 : State::kRegistered;
  if (state == State::kRegistered && clock_.now() - *registered_ >= options_.sync_patience) {
    status_.why = fmt::format("{}: registered, but no Synchronize within {} ms",
                              options_.socket,
                              options_.sync_patience.count());
  }
  if (state == status_.state) return;
  status_.state = state;
  status_.since = clock_.now();
  if (state == State::kReady) status_.why.clear();
}

void NriConnection::end() {
  const bool was_ready = status_.state == State::kReady;
  if (was_ready && clock_.now() - status_.since >= options_.stable) backoff_.reset();
  registered_.reset();
  alive_.reset();
  plugin_.begin();
  look();
}

bool NriConnection::may_flush(const net::TtrpcPeer& peer) const {
  return status_.state == State::kReady && plugin_.updates().size() > 0 &&
         !plugin_.is_between_parts() && !plugin_.is_shut_down() && peer.is_sent() &&
         clock_.now() - last_request_ >= options_.quiet;
}

std::optional<MonoTime> NriConnection::next_look() const {
  if (status_.state == State::kRegistered) {
    const auto due = *registered_ + options_.sync_patience;
    if (due > clock_.now()) return due;
  }
  // Half a Synchronize goes on or ends with a request, which wakes.
  const bool waiting = plugin_.updates().size() > 0 && !plugin_.is_between_parts();
  if (status_.state != State::kReady || !waiting) return std::nullopt;
  // At least a millisecond ahead: what is unsent says nothing when it has gone.
  return std::max(last_request_ + options_.quiet, clock_.now() + milliseconds{1});
}

void NriConnection::wake_at(std::optional<MonoTime> at) {
  if (at) {
    wake_.expires_after(std::max(*at - clock_.now(), MonoTime::duration{0}));
  } else {
    wake_.expires_at(asio::steady_timer::time_point::max());
  }
}

asio::awaitable<void> NriConnection::flush(net::TtrpcPeer& peer) {
  const auto batch = plugin_.updates().take(kUpdatesAtOnce);
  net::TtrpcRequest request{
      kService, "UpdateContainers", encode_update_containers(batch), options_.update_timeout};
  const auto answered = co_await peer.call(std::move(request));
  std::size_t failed = batch.size();
  if (answered) {
    const auto told = decode_update_containers(*answered);
    if (told) failed = std::min(*told, batch.size());
  }
  status_.updates_failed += failed;
  status_.updates_sent += batch.size() - failed;
}

asio::awaitable<Error> NriConnection::serve(net::TtrpcPeer& peer) {
  for (;;) {
    if (peer.failure()) co_return *peer.failure();
    if (plugin_.is_shut_down())
      peer.close_when_sent({Errc::kBusy, options_.socket + ": the runtime shuts down"});
    if (peer.failure()) co_return *peer.failure();
    look();
    if (may_flush(peer)) {
      co_await flush(peer);
    } else {
      wake_at(next_look());
      co_await wake_.async_wait(use_ec);
    }
    const bool stop = reactor::is_stopped(co_await asio::this_coro::cancellation_state);
    if (stop) co_return Error{Errc::kIo, options_.socket + ": cancelled"};
  }
}

asio::awaitable<Error> NriConnection::session() {
  struct End {
    NriConnection& self;
    ~End() { self.end(); }
  };
  auto socket = net::connect_unix(ex_, options_.socket);
  if (!socket) co_return socket.error();
  const End guard{*this};
  plugin_.begin();
  alive_ = std::make_shared<int>();
  ++status_.connections;
  net::TtrpcPeer::Options wire;
  wire.name = options_.socket;
  net::TtrpcPeer peer{
      std::move(*socket),
      std::move(wire),
      net::TtrpcPeer::LateHandler{[this](const net::TtrpcRequest& request, Reply reply) {
        take(request, std::move(reply));
      }},
      [this](const Error&) { wake_.cancel(); }};
  net::TtrpcRequest request{kService,
                            "RegisterPlugin",
                            encode_register(options_.name, options_.index),
                            options_.register_timeout};
  const auto registered = co_await peer.call(std::move(request));
  if (!registered) co_return registered.error();
  registered_ = clock_.now();
  co_return co_await serve(peer);
}

asio::awaitable<void> NriConnection::pause() {
  backoff_.next();
  const auto bound = backoff_.bound().count();
  asio::steady_timer timer{ex_, milliseconds{backoff_.between((bound + 1) / 2, bound)}};
  co_await timer.async_wait(use_ec);
}

asio::awaitable<void> NriConnection::run() {
  for (;;) {
    auto why = co_await session();
    bool stop = reactor::is_stopped(co_await asio::this_coro::cancellation_state);
    if (stop) co_return;
    status_.why = std::move(why.context);
    co_await pause();
    stop = reactor::is_stopped(co_await asio::this_coro::cancellation_state);
    if (stop) co_return;
  }
}

}  // namespace koordlet::runtime
