#include "net/http2_client.hpp"

#include <algorithm>

#include "net/http2_connection.hpp"
#include "net/unix_connect.hpp"

namespace koordlet::net {
namespace asio = boost::asio;

const std::string* find_header(const Http2Headers& headers, std::string_view name) {
  const auto at =
      std::find_if(headers.begin(), headers.end(), [&](const auto& h) { return h.first == name; });
  return at == headers.end() ? nullptr : &at->second;
}

struct Http2Client::State {
  asio::any_io_executor ex;
  Options options;
  std::shared_ptr<Http2Connection> current = {};
  std::vector<std::weak_ptr<Http2Connection>> all = {};  ///< those that drain too
  std::uint64_t connections = 0;
  bool ended = false;

  Error why_ended() const { return {Errc::kIo, options.socket + ": the client ended"}; }

  Result<std::shared_ptr<Http2Connection>> connected() {
    if (ended) return why_ended();
    if (current && current->is_usable()) return current;
    auto socket = connect_unix(ex, options.socket);
    if (!socket) return socket.error();
    auto made =
        std::make_shared<Http2Connection>(std::move(*socket), options.socket, options.max_body);
    if (const auto started = made->start(); !started) return started.error();
    std::erase_if(all, [](const auto& weak) { return weak.expired(); });
    all.push_back(made);
    current = made;
    ++connections;
    return made;
  }
};

Http2Client::Http2Client(asio::any_io_executor ex, Options options)
    : state_{std::make_shared<State>(State{std::move(ex), std::move(options)})} {}

Http2Client::~Http2Client() {
  state_->ended = true;
  for (const auto& weak : state_->all)
    if (const auto connection = weak.lock()) connection->close(state_->why_ended());
}

std::uint64_t Http2Client::connections() const { return state_->connections; }

asio::awaitable<Result<Http2Answer>> Http2Client::post(Http2Request request) {
  return exchange(state_, std::move(request));
}

asio::awaitable<Result<Http2Answer>> Http2Client::exchange(std::shared_ptr<State> state,
                                                           Http2Request request) {
  const auto deadline =
      std::chrono::steady_clock::now() + request.timeout.value_or(state->options.timeout);
  for (bool again = false;; again = true) {
    const auto connection = state->connected();
    if (!connection) co_return connection.error();
    auto outcome = co_await (*connection)->post(request, deadline);
    if (outcome.answer || !outcome.may_repeat || again) co_return std::move(outcome.answer);
  }
}

}  // namespace koordlet::net
