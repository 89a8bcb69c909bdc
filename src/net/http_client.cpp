#include "net/http_client.hpp"

#include <utility>

#include <boost/asio/this_coro.hpp>

#include "net/client_exchange.hpp"
#include "net/client_pool.hpp"

namespace koordlet::net {
namespace asio = boost::asio;
namespace this_coro = boost::asio::this_coro;
namespace {

/// What a stream and its read in progress share.
struct StreamState {
  StreamState(std::shared_ptr<ClientPool> owner, std::unique_ptr<ClientExchange> answer)
      : pool{std::move(owner)}, exchange{std::move(answer)}, head{exchange->head()} {}

  std::shared_ptr<ClientPool> pool;
  std::unique_ptr<ClientExchange> exchange;  ///< null: read to the end, or dead
  ResponseHead head;
  std::optional<Error> fault;  ///< what it died of
  bool reading = false;

  std::string next_piece() {
    auto piece = exchange->take_body();
    if (exchange->done()) {
      exchange->finish();
      exchange.reset();
    }
    return piece;
  }
};

asio::awaitable<Result<std::string>> read_piece(std::shared_ptr<StreamState> state,
                                                std::chrono::milliseconds silence) {
  auto& exchange = state->exchange;
  while (exchange) {
    auto piece = state->next_piece();
    if (!piece.empty() || !exchange) co_return piece;
    const auto read = co_await exchange->more(Deadline::in(silence, "byte of the answer"));
    if (!read) co_return read.error();
  }
  co_return std::string{};
}

asio::awaitable<Result<std::string>> read_stream(std::shared_ptr<StreamState> state,
                                                 std::chrono::milliseconds silence) {
  if (state->fault) co_return *state->fault;
  if (state->reading) co_return Error{Errc::kInvalid, "two reads of one stream"};
  state->reading = true;
  const bool throws = co_await this_coro::throw_if_cancelled();
  co_await this_coro::throw_if_cancelled(false);
  auto piece = co_await read_piece(state, silence);
  co_await this_coro::throw_if_cancelled(throws);
  state->reading = false;
  if (!piece) {
    ++state->pool->counters().failures;
    state->fault = piece.error();
    state->exchange.reset();
  }
  co_return piece;
}

class ClientStream final : public HttpStream {
 public:
  explicit ClientStream(std::shared_ptr<StreamState> state) : state_{std::move(state)} {}
  ~ClientStream() override {
    // A read in progress holds the rest; it ends on the closed socket.
    if (state_->exchange) state_->exchange->close();
  }
  const ResponseHead& head() const override { return state_->head; }
  asio::awaitable<Result<std::string>> read(std::chrono::milliseconds silence) override {
    return read_stream(state_, silence);
  }

 private:
  std::shared_ptr<StreamState> state_;
};

asio::awaitable<Result<ClientResponse>> whole_answer(std::shared_ptr<ClientPool> pool,
                                                     ClientRequest request) {
  const auto& limits = pool->limits();
  const ClientExchange::Plan plan{limits.request_timeout, true, limits.max_body};
  const auto exchange = co_await ClientExchange::begin(pool, std::move(request), plan);
  if (!exchange) co_return exchange.error();
  const auto read = co_await (*exchange)->all();
  if (!read) co_return read.error();
  ClientResponse out{(*exchange)->head(), (*exchange)->take_body()};
  (*exchange)->finish();
  co_return std::move(out);
}

asio::awaitable<Result<std::unique_ptr<HttpStream>>> streamed_answer(
    std::shared_ptr<ClientPool> pool, ClientRequest request) {
  const ClientExchange::Plan plan{pool->limits().head_timeout, false, std::nullopt};
  auto exchange = co_await ClientExchange::begin(pool, std::move(request), plan);
  if (!exchange) co_return exchange.error();
  auto state = std::make_shared<StreamState>(pool, std::move(*exchange));
  std::unique_ptr<HttpStream> stream = std::make_unique<ClientStream>(std::move(state));
  co_return std::move(stream);
}

/// A cancelled caller gets an error like any other. Asio would throw at the next wait in here.
template <class T>
asio::awaitable<Result<T>> counted(std::shared_ptr<ClientPool> pool,
                                   asio::awaitable<Result<T>> body) {
  ++pool->counters().requests;
  const bool throws = co_await this_coro::throw_if_cancelled();
  co_await this_coro::throw_if_cancelled(false);
  auto out = co_await std::move(body);
  co_await this_coro::throw_if_cancelled(throws);
  if (!out) ++pool->counters().failures;
  co_return out;
}

}  // namespace

struct HttpClient::Impl {
  std::shared_ptr<ClientPool> pool;
};

HttpClient::HttpClient(asio::any_io_executor ex,
                       HttpEndpoint endpoint,
                       std::shared_ptr<TlsContext> tls,
                       Limits limits)
    : impl_{std::make_shared<Impl>()} {
  impl_->pool =
      std::make_shared<ClientPool>(std::move(ex), std::move(endpoint), std::move(tls), limits);
}

HttpClient::~HttpClient() { impl_->pool->shut(); }

asio::awaitable<Result<ClientResponse>> HttpClient::request(ClientRequest request) {
  return counted(impl_->pool, whole_answer(impl_->pool, std::move(request)));
}

asio::awaitable<Result<std::unique_ptr<HttpStream>>> HttpClient::open(ClientRequest request) {
  return counted(impl_->pool, streamed_answer(impl_->pool, std::move(request)));
}

void HttpClient::set_tls(std::shared_ptr<TlsContext> tls) { impl_->pool->set_tls(std::move(tls)); }
void HttpClient::close_kept() { impl_->pool->close_kept(); }
const HttpEndpoint& HttpClient::endpoint() const { return impl_->pool->endpoint(); }
HttpClient::Stats HttpClient::stats() const { return impl_->pool->stats(); }

}  // namespace koordlet::net
