#include "app/cri_proxy_command.hpp"

#include <csignal>
#include <exception>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include "base/log.hpp"
#include "base/parse.hpp"
#include "kernel/probe.hpp"
#include "net/grpc_forward.hpp"
#include "net/http2_server.hpp"
#include "reactor/signals.hpp"
#include "runtime/service_notify.hpp"

namespace koordlet::app {
namespace {

namespace asio = boost::asio;
constexpr std::size_t kMaxPath = 107;  // sun_path with its zero
constexpr std::chrono::minutes kMostGrace{10};
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

/// The proxy and its loop.
class CriProxy {
 public:
  explicit CriProxy(const CriProxyOptions& options)
      : options_{options},
        signals_{io_.get_executor()},
        upstream_{io_.get_executor(), options.runtime},
        forward_{io_.get_executor(), upstream_, nullptr, {}},
        server_{io_.get_executor(), server_options(options), [this](const auto& stream) {
                  forward_.take(stream);
                }} {}

  Result<void> run() {
    if (const auto listens = server_.listen_unix(options_.listen); !listens) return listens;
    upstream_.on_connection([this] {
      log::info(kSubject,
                fmt::format("{}: connection {} made", options_.runtime, upstream_.connections()));
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
    runtime::notify_service("READY=1");
    io_.run();
    const auto& c = forward_.counters();
    log::info(kSubject,
              fmt::format(
                  "ends: {} calls, {} without a runtime, {} late", c.calls, c.unavailable, c.late));
    if (failed_) std::rethrow_exception(failed_);
    return {};
  }

 private:
  static net::Http2Server::Options server_options(const CriProxyOptions& options) {
    net::Http2Server::Options out;
    out.grace = options.grace;
    return out;
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
  net::GrpcForward forward_;
  net::Http2Server server_;
  asio::cancellation_signal stop_;
  std::exception_ptr failed_;
};

}  // namespace

Result<void> check(const CriProxyOptions& options) {
  if (const auto ok = check_path("--listen", options.listen); !ok) return ok;
  if (const auto ok = check_path("--runtime", options.runtime); !ok) return ok;
  if (options.listen == options.runtime)
    return Error{Errc::kInvalid,
                 fmt::format("--listen: '{}': expected another path than --runtime",
                             printable(options.listen, 120))};
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
