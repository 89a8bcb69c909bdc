#include <algorithm>
#include <cerrno>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/parse.hpp"
#include "net/grpc_status.hpp"
#include "runtime/nri_check.hpp"
#include "runtime/nri_host_impl.hpp"

namespace koordlet::runtime {
namespace asio = boost::asio;
using reactor::use_ec;
using std::chrono::milliseconds;
namespace {

constexpr std::uint32_t kPluginConnection = 1;   // requests of the runtime
constexpr std::uint32_t kRuntimeConnection = 2;  // requests of the plugin
constexpr std::size_t kMostLater = 20'000;
constexpr std::size_t kShown = 200;
constexpr milliseconds kJoin{1'000};

}  // namespace

NriHost::NriHost(asio::any_io_executor ex, Options options, Deps deps, const Clock& clock)
    : ex_{std::move(ex)},
      options_{std::move(options)},
      deps_{std::move(deps)},
      clock_{clock},
      tasks_{ex_, [](const std::string&, const std::exception_ptr&) {}} {
  status_.why = "nobody has connected";
}

NriHost::~NriHost() = default;

Result<void> NriHost::listen() {
  auto made = net::Listener::unix_socket(ex_, options_.socket);
  if (!made) return made.error();
  listener_.emplace(std::move(*made));
  return {};
}

void NriHost::changed(bool ready, std::string why) {
  const bool same = ready == status_.ready && why == status_.why;
  status_.ready = ready;
  status_.why = std::move(why);
  if (!same && deps_.on_change) deps_.on_change();
}

NriHost::Status NriHost::status() const {
  auto out = status_;
  out.updates_waiting = waiting_.size();
  return out;
}

std::uint64_t NriHost::session() const {
  return session_ && session_->ready ? session_->number : 0;
}

asio::awaitable<void> NriHost::run() {
  for (;;) {
    const auto [ec] = co_await listener_->descriptor().async_wait(
        asio::posix::descriptor_base::wait_read, use_ec);
    if (ec) break;
    accept_all();
  }
  co_await asio::this_coro::reset_cancellation_state();
  listener_.reset();
  tasks_.request_stop();
  co_await tasks_.join(kJoin);
}

void NriHost::accept_all() {
  for (;;) {
    const int fd = ::accept4(
        listener_->descriptor().native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && errno == EINTR) continue;
    if (fd < 0) return;
    if ((session_ && session_->is_open()) || clock_.now() < paused_until_) {
      ++status_.turned_away;
      ::close(fd);
    } else {
      begin(fd);
    }
  }
}

void NriHost::begin(int fd) {
  asio::local::stream_protocol::socket socket{ex_, asio::local::stream_protocol{}, fd};
  const auto session = std::make_shared<Session>(ex_);
  session->number = ++status_.connections;
  net::TtrpcPeer::Options wire;
  wire.name = options_.socket;
  wire.serves = kRuntimeConnection;
  wire.calls = kPluginConnection;
  const std::weak_ptr<Session> weak = session;
  session->peer = std::make_unique<net::TtrpcPeer>(
      std::move(socket),
      std::move(wire),
      net::TtrpcPeer::LateHandler{[this, weak](const net::TtrpcRequest& request, Reply reply) {
        if (const auto self = weak.lock()) answer(*self, request, reply);
      }},
      [weak](const Error&) {
        if (const auto self = weak.lock()) self->wake.cancel();
      });
  session_ = session;
  tasks_.spawn("session", serve(session));
}

void NriHost::answer(Session& session, const net::TtrpcRequest& request, const Reply& reply) {
  const auto refuse = [&](int status, std::string why) { reply({status, std::move(why), {}}); };
  if (request.service == kNriRuntime && request.method == "RegisterPlugin") {
    auto plugin = decode_register(request.payload);
    if (!plugin) return refuse(net::kStatusInvalidArgument, plugin.error().context);
    session.plugin = std::move(*plugin);
    reply({});
    session.wake.cancel();
    return;
  }
  if (request.service != kNriRuntime || request.method != "UpdateContainers")
    return refuse(net::kStatusUnimplemented, request.service + "/" + request.method + ": unknown");
  auto updates = decode_updates(request.payload);
  if (!updates) return refuse(net::kStatusInvalidArgument, updates.error().context);
  if (const auto sound = check_updates(*updates); !sound)
    return refuse(net::kStatusInvalidArgument, sound.error().context);
  tasks_.spawn("updates", answer_updates(std::move(*updates), reply));
}

void NriHost::unanswered(std::string why) {
  ++status_.unanswered;
  if (!session_ || !session_->is_open()) return;
  note_hang();
  if (status_.hangs > 1) why += fmt::format(", {} times in a row", status_.hangs);
  session_->peer->close({Errc::kBusy, options_.socket + ": " + std::move(why)});
}

/// The first hang is forgiven: a daemon may be slow once.
void NriHost::note_hang() {
  if (++status_.hangs < 2) return;
  auto pause = options_.pause;
  for (auto n = status_.hangs; n > 2 && pause < options_.longest_pause; --n) pause *= 2;
  paused_until_ = clock_.now() + std::min(pause, options_.longest_pause);
}

/// nullopt: no answer.
asio::awaitable<Result<std::optional<std::string>>> NriHost::ask(std::string method,
                                                                 std::string body) {
  std::optional<std::string> out;
  const auto session = session_;
  if (!session || !session->ready || !session->is_open()) co_return out;
  ++status_.asked;
  net::TtrpcRequest request{kNriPlugin, std::move(method), std::move(body), options_.timeout};
  auto answer = co_await session->peer->ask(std::move(request));
  if (!answer) {
    // A caller that gave up says nothing about the plugin.
    const bool gave_up = answer.error().code == Errc::kIo;
    if (session == session_ && !gave_up)
      unanswered(answer.error().context);
    else
      ++status_.unanswered;
    co_return out;
  }
  if (answer->status == net::kStatusOk) {
    out = std::move(answer->payload);
    co_return out;
  }
  status_.hangs = 0;
  ++status_.refused;
  co_return Error{net::errc_of_status(static_cast<std::uint64_t>(answer->status)),
                  printable(answer->message, kShown)};
}

NriHost::Answer<HookAdjustment> NriHost::create_container(HookPod pod, HookContainer container) {
  std::optional<HookAdjustment> out;
  const auto answer = co_await ask("CreateContainer", encode_container_request(pod, container));
  if (!answer) co_return answer.error();
  if (!*answer) co_return out;
  auto creation = decode_creation(**answer);
  if (!creation) {
    unanswered(creation.error().context);
    co_return out;
  }
  status_.hangs = 0;
  out = std::move(creation->adjustment);
  if (!creation->updates.empty() && check_updates(creation->updates, container.id))
    tasks_.spawn("updates", answer_updates(std::move(creation->updates), [](auto) {}));
  co_return out;
}

NriHost::Answer<HookResources> NriHost::update_container(HookPod pod,
                                                         HookContainer container,
                                                         HookResources asked) {
  std::optional<HookResources> out;
  const auto answer = co_await ask("UpdateContainer", encode_update_request(pod, container, asked));
  if (!answer) co_return answer.error();
  if (!*answer) co_return out;
  auto updates = decode_updates(**answer);
  if (!updates) {
    unanswered(updates.error().context);
    co_return out;
  }
  status_.hangs = 0;
  out.emplace();
  Updates others;
  for (auto& update : *updates) {
    if (update.container_id == container.id) {
      out = merged(std::move(*out), update.resources);
    } else {
      others.push_back(std::move(update));
    }
  }
  if (!others.empty() && check_updates(others))
    tasks_.spawn("updates", answer_updates(std::move(others), [](auto) {}));
  co_return out;
}

asio::awaitable<void> NriHost::stopping(HookPod pod, HookContainer container) {
  const auto answer = co_await ask("StopContainer", encode_container_request(pod, container));
  if (!answer || !*answer) co_return;
  auto updates = decode_updates(**answer);
  if (updates && !updates->empty() && check_updates(*updates))
    tasks_.spawn("updates", answer_updates(std::move(*updates), [](auto) {}));
}

asio::awaitable<void> NriHost::tell(std::string method, std::string body) {
  co_await ask(std::move(method), std::move(body));
}

void NriHost::happened(HookEvent event, const HookPod& pod, const HookContainer* container) {
  if (event == HookEvent::kRemoveContainer && container != nullptr) waiting_.erase(container->id);
  if (!session_) return;
  if (!session_->ready) {
    if (session_->later.size() >= kMostLater) {
      ++status_.dropped;
      return;
    }
    session_->later.push_back(
        {event, pod, container != nullptr ? std::optional{*container} : std::nullopt});
    return;
  }
  if ((session_->events & bit_of(event)) == 0) return;
  tasks_.spawn("event", tell("StateChange", encode_state_change(event, pod, container)));
}

void NriHost::missed(const HookPod& pod, const HookContainer& container) {
  if (!session_) return;
  if (session_->ready) {
    tasks_.spawn("repair", repair(pod, container));
  } else if (session_->later.size() < kMostLater) {
    session_->later.push_back({std::nullopt, pod, container});
  } else {
    ++status_.dropped;
  }
}

/// Of what the answer says, what can still be put into a container that exists.
asio::awaitable<void> NriHost::repair(HookPod pod, HookContainer container) {
  const auto id = container.id;
  const auto answer = co_await create_container(std::move(pod), std::move(container));
  ++status_.repaired;
  if (!answer || !*answer || (*answer)->resources == HookResources{}) co_return;
  HookUpdate update;
  update.container_id = id;
  update.resources = (*answer)->resources;
  update.resources.rdt_class.reset();
  Updates updates{std::move(update)};
  if (check_updates(updates)) co_await carry_out(std::move(updates));
}

}  // namespace koordlet::runtime
