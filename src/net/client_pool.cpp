#include "net/client_pool.hpp"

#include <algorithm>
#include <utility>

#include "net/client_request.hpp"

namespace koordlet::net {
namespace asio = boost::asio;

ClientPool::Lease::Lease(std::shared_ptr<ClientPool> pool,
                         std::shared_ptr<ClientConnection> connection,
                         bool reused)
    : pool_{std::move(pool)},
      connection_{std::move(connection)},
      generation_{pool_->generation_},
      reused_{reused} {
  pool_->in_use_.insert(connection_.get());
}

ClientPool::Lease::~Lease() {
  if (given_back_) return;
  pool_->in_use_.erase(connection_.get());
  connection_->close();
}

void ClientPool::Lease::give_back() {
  if (std::exchange(given_back_, true)) return;
  pool_->in_use_.erase(connection_.get());
  if (generation_ == pool_->generation_) {
    pool_->keep(connection_);
  } else {
    connection_->close();
  }
}

ClientPool::ClientPool(asio::any_io_executor ex,
                       HttpEndpoint endpoint,
                       std::shared_ptr<TlsContext> tls,
                       HttpClient::Limits limits)
    : ex_{std::move(ex)}, endpoint_{std::move(endpoint)}, tls_{std::move(tls)}, limits_{limits} {}

asio::awaitable<Result<std::unique_ptr<ClientPool::Lease>>> ClientPool::take(
    std::shared_ptr<ClientPool> pool, bool fresh) {
  const auto peer = [&pool] { return peer_name(pool->endpoint_); };
  if (pool->shut_) co_return Error{Errc::kIo, peer() + ": closed by the client"};
  if (!fresh) {
    auto kept = pool->take_kept();
    if (kept) co_return std::move(kept);
  }
  auto tls = pool->endpoint_.tls ? pool->tls_ : nullptr;
  if (pool->endpoint_.tls && !tls) co_return Error{Errc::kInvalid, peer() + ": no TLS context"};
  auto connection = std::make_shared<ClientConnection>(pool->ex_, pool->endpoint_);
  auto lease = std::make_unique<Lease>(pool, std::move(connection), false);
  const auto connected = co_await (*lease)->connect(
      std::move(tls), pool->limits_.connect_timeout, pool->limits_.dead_peer);
  if (!connected) co_return connected.error();
  ++pool->stats_.connects;
  co_return std::move(lease);
}

std::unique_ptr<ClientPool::Lease> ClientPool::take_kept() {
  while (!kept_.empty()) {
    auto connection = std::move(kept_.back());  // the one least likely to be timed out by the peer
    kept_.pop_back();
    if (connection->end_idle()) {
      ++stats_.reused;
      return std::make_unique<Lease>(shared_from_this(), std::move(connection), true);
    }
    connection->close();
  }
  return nullptr;
}

void ClientPool::keep(std::shared_ptr<ClientConnection> connection) {
  if (shut_ || limits_.max_kept == 0) {
    connection->close();
    return;
  }
  if (kept_.size() >= limits_.max_kept) {
    kept_.front()->close();
    kept_.erase(kept_.begin());
  }
  connection->start_idle(limits_.keep_idle, [weak = weak_from_this(), raw = connection.get()] {
    if (const auto pool = weak.lock()) pool->forget(raw);
  });
  kept_.push_back(std::move(connection));
}

void ClientPool::forget(const ClientConnection* connection) {
  const auto at = std::find_if(kept_.begin(), kept_.end(), [connection](const auto& one) {
    return one.get() == connection;
  });
  if (at == kept_.end()) return;
  (*at)->close();
  kept_.erase(at);
}

void ClientPool::set_tls(std::shared_ptr<TlsContext> tls) {
  tls_ = std::move(tls);
  ++generation_;
  close_kept();
}

void ClientPool::close_kept() {
  for (const auto& connection : kept_) connection->close();
  kept_.clear();
}

void ClientPool::shut() {
  shut_ = true;
  close_kept();
  for (ClientConnection* connection : in_use_) connection->close();
}

HttpClient::Stats ClientPool::stats() const {
  auto out = stats_;
  out.open = in_use_.size();
  out.kept = kept_.size();
  return out;
}

}  // namespace koordlet::net
