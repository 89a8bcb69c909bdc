#include "app/cri_proxy_command.hpp"

#include <csignal>
#include <exception>
#include <optional>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/parse.hpp"
#include "kernel/probe.hpp"
#include "net/grpc_forward.hpp"
#include "net/http2_server.hpp"
#include "reactor/signals.hpp"
#include "runtime/cri_client.hpp"
#include "runtime/cri_hooks.hpp"
#include "runtime/nri_host.hpp"
#include "runtime/service_notify.hpp"

namespace koordlet::app {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
constexpr std::size_t kMaxPath = 107;  // sun_path with its zero
constexpr std::chrono::minutes kMostGrace{10};
constexpr milliseconds kLeastHookTimeout{10};
constexpr milliseconds kMostHookTimeout{30'000};  // kubelet gives a call two minutes
/// The host of the hooks looks at the time first, and knows whom to blame.
constexpr milliseconds kEditSlack{100};
constexpr const char* kSubject = "cri-proxy";

Result<void> check_path(std::string_view flag, const std::string& path) {
  if (path.starts_with('/') && path.size() <= kMaxPath && path.find('\0') == std::string::npos)
    return {};
  return Error{Errc::kInvalid,
               fmt::format("{}: '{}': expected an absolute path of at most {} bytes",
                           flag,
                           printable(path, 120),
                           kMaxPath)};
}

Result<void> check_other(std::string_view flag,
                         const std::string& path,
                         std::string_view other_flag,
                         const std::string& other) {
  if (path != other) return {};
  return Error{
      Errc::kInvalid,
      fmt::format(
          "{}: '{}': expected another path than {}", flag, printable(path, 120), other_flag)};
}

/// Hooks between the calls that pass and the daemon, and the runtime's own word of what it has.
class ProxyHooks {
 public:
  ProxyHooks(const asio::any_io_executor& ex, const CriProxyOptions& options)
      : ex_{ex},
        socket_{options.hooks},
        client_{ex, {options.runtime}},
        host_{ex, host_options(options), deps(), clock_},
        editor_{host_} {}

  Result<void> listen() {
    const auto ok = host_.listen();
    if (ok) log::info("hooks", fmt::format("waits for the daemon on {}", socket_));
    return ok;
  }
  asio::awaitable<void> run() { return host_.run(); }
  /// The runtime may be another one, or there for the first time.
  void look_again() {
    asio::co_spawn(ex_, list(), [](const std::exception_ptr&, const Result<HookInventory>&) {});
  }
  net::GrpcEditor& editor() { return editor_; }
  std::string summary() const {
    const auto& e = editor_.counters();
    const auto h = host_.status();
    return fmt::format("{} hooks asked, {} unanswered, {} refused, {} failed, {} repaired",
                       e.asked,
                       h.unanswered,
                       e.refused,
                       e.failures,
                       h.repaired);
  }

 private:
  static runtime::NriHost::Options host_options(const CriProxyOptions& options) {
    runtime::NriHost::Options out;
    out.socket = options.hooks;
    out.runtime_name = "koordlet-cri-proxy";
    out.runtime_version = KOORDLET_VERSION;
    out.timeout = options.hook_timeout;
    return out;
  }
  runtime::NriHost::Deps deps() {
    runtime::NriHost::Deps out;
    out.inventory = [this] { return list(); };
    out.update = [this](HookUpdate update) { return update_container(std::move(update)); };
    out.is_known = [this](const std::string& id) {
      return editor_.inventory()->find_container(editor_.id_of(id)) != nullptr;
    };
    out.on_change = [this] { log_change(); };
    return out;
  }
  asio::awaitable<Result<HookInventory>> list() {
    runtime::CriInventory::Listing listing{editor_.inventory()};
    auto listed = co_await client_.inventory();
    if (!listed) co_return listed.error();
    listing.take(*listed);
    co_return editor_.inventory()->all();
  }
  asio::awaitable<Result<void>> update_container(HookUpdate update) {
    auto done = co_await client_.update_container(editor_.id_of(update.container_id),
                                                  std::move(update.resources));
    if (!done) log::warn("hooks", fmt::format("update: {}", done.error().context));
    co_return done;
  }
  void log_change() const {
    const auto s = host_.status();
    if (s.ready) {
      log::info(
          "hooks",
          fmt::format(
              "{} answers, {} containers are known", s.plugin, editor_.inventory()->containers()));
    } else {
      log::warn("hooks", fmt::format("{}: containers start without values", s.why));
    }
  }

  asio::any_io_executor ex_;
  std::string socket_;
  SystemClock clock_;
  runtime::CriClient client_;
  runtime::NriHost host_;
  runtime::CriHookEditor editor_;
};

/// The proxy and its loop.
class CriProxy {
 public:
  explicit CriProxy(const CriProxyOptions& options)
      : options_{options},
        signals_{io_.get_executor()},
        upstream_{io_.get_executor(), options.runtime},
        forward_{io_.get_executor(), upstream_, make_hooks(), forward_options(options)},
        server_{io_.get_executor(), server_options(options), [this](const auto& stream) {
                  forward_.take(stream);
                }} {}

  Result<void> run() {
    if (hooks_)
      if (const auto listens = hooks_->listen(); !listens) return listens;
    if (const auto listens = server_.listen_unix(options_.listen); !listens) return listens;
    upstream_.on_connection([this] {
      log::info(kSubject,
                fmt::format("{}: connection {} made", options_.runtime, upstream_.connections()));
      if (hooks_) hooks_->look_again();
    });
    log::info(kSubject,
              fmt::format("version {} listens on {}, runtime {}",
                          KOORDLET_VERSION,
                          options_.listen,
                          options_.runtime));
    asio::co_spawn(
        io_,
        server_.run(),
        asio::bind_cancellation_slot(stop_.slot(), [this](const std::exception_ptr& failed) {
          failed_ = failed;
          io_.stop();
        }));
    asio::co_spawn(io_, wait_for_signal(), [](const std::exception_ptr&) {});
    if (hooks_) {
      hooks_->look_again();
      asio::co_spawn(io_, hooks_->run(), [](const std::exception_ptr&) {});
    }
    runtime::notify_service("READY=1");
    io_.run();
    const auto& c = forward_.counters();
    log::info(kSubject,
              fmt::format(
                  "ends: {} calls, {} without a runtime, {} late", c.calls, c.unavailable, c.late));
    if (hooks_) log::info("hooks", hooks_->summary());
    if (failed_) std::rethrow_exception(failed_);
    return {};
  }

 private:
  static net::Http2Server::Options server_options(const CriProxyOptions& options) {
    net::Http2Server::Options out;
    out.grace = options.grace;
    return out;
  }
  static net::GrpcForward::Options forward_options(const CriProxyOptions& options) {
    net::GrpcForward::Options out;
    out.edit_timeout = options.hook_timeout + kEditSlack;
    return out;
  }
  net::GrpcEditor* make_hooks() {
    if (options_.hooks.empty()) return nullptr;
    hooks_.emplace(io_.get_executor(), options_);
    return &hooks_->editor();
  }

  asio::awaitable<void> wait_for_signal() {
    for (;;) {
      const auto signal = co_await signals_.next();
      if (!signal) co_return;
      if (*signal == SIGHUP) continue;  // there is no file to read again
      log::info(kSubject, fmt::format("signal {}: ends, {} calls run", *signal, server_.streams()));
      runtime::notify_service("STOPPING=1");
      stop_.emit(asio::cancellation_type::terminal);
      forward_.end_watches();
      co_return;
    }
  }

  CriProxyOptions options_;
  asio::io_context io_;
  reactor::Signals signals_;
  net::GrpcUpstream upstream_;
  std::optional<ProxyHooks> hooks_;  ///< nullopt: every call passes unasked
  net::GrpcForward forward_;
  net::Http2Server server_;
  asio::cancellation_signal stop_;
  std::exception_ptr failed_;
};

}  // namespace

Result<void> check(const CriProxyOptions& options) {
  if (const auto ok = check_path("--listen", options.listen); !ok) return ok;
  if (const auto ok = check_path("--runtime", options.runtime); !ok) return ok;
  if (const auto ok = check_other("--listen", options.listen, "--runtime", options.runtime); !ok)
    return ok;
  if (!options.hooks.empty()) {
    if (const auto ok = check_path("--hooks", options.hooks); !ok) return ok;
    if (const auto ok = check_other("--hooks", options.hooks, "--listen", options.listen); !ok)
      return ok;
    if (const auto ok = check_other("--hooks", options.hooks, "--runtime", options.runtime); !ok)
      return ok;
  }
  if (options.hook_timeout < kLeastHookTimeout || options.hook_timeout > kMostHookTimeout)
    return Error{
        Errc::kInvalid,
        fmt::format("--hook-timeout: {}ms: expected 10ms to 30s", options.hook_timeout.count())};
  if (options.grace > kMostGrace)
    return Error{Errc::kInvalid,
                 fmt::format("--grace: {}ms: expected at most 10m", options.grace.count())};
  return {};
}

Result<void> run_cri_proxy(const CriProxyOptions& options) {
  CriProxy proxy{options};  // its signals before the log's thread
  log::start({});
  if (const auto limit = kernel::raise_descriptor_limit(); !limit)
    log::warn("limits", fmt::format("{}, ignoring", limit.error().context));
  const auto ran = proxy.run();
  log::stop();
  return ran;
}

}  // namespace koordlet::app
