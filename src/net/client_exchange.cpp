#include "net/client_exchange.hpp"

#include <utility>

#include "net/client_request.hpp"

namespace koordlet::net {
namespace asio = boost::asio;

ClientExchange::ClientExchange(std::unique_ptr<ClientPool::Lease> lease,
                               AnswerReader::Bounds bounds,
                               bool to_head,
                               Deadline deadline)
    : lease_{std::move(lease)}, reader_{bounds, to_head}, deadline_{deadline} {}

asio::awaitable<Result<std::unique_ptr<ClientExchange>>> ClientExchange::begin(
    std::shared_ptr<ClientPool> pool, ClientRequest request, Plan plan) {
  const auto bytes = request_bytes(pool->endpoint(), request);
  if (!bytes) co_return bytes.error();
  const AnswerReader::Bounds bounds{pool->limits().max_head, plan.max_body};
  bool fresh = false;
  for (;;) {
    auto lease = co_await ClientPool::take(pool, fresh);
    if (!lease) co_return lease.error();
    const auto deadline =
        Deadline::in(plan.limit, plan.until_end ? "whole answer" : "head of an answer");
    auto exchange = std::make_unique<ClientExchange>(
        std::move(*lease), bounds, request.method == "HEAD", deadline);
    const auto talked = co_await exchange->talk(*bytes);
    if (talked) co_return std::move(exchange);
    if (fresh || !exchange->may_repeat()) co_return talked.error();
    fresh = true;
  }
}

bool ClientExchange::may_repeat() const {
  return lease_->reused() && (*lease_)->lost() && !reader_.started();
}

asio::awaitable<Result<void>> ClientExchange::talk(std::string_view bytes) {
  const auto sent = co_await (*lease_)->send(bytes, deadline_);
  // A server may refuse a request before it has read it all, and close: the answer counts.
  if (!sent && !(*lease_)->lost()) co_return sent.error();
  sent_ = sent.has_value();
  while (!reader_.has_head()) {
    const auto read = co_await more(deadline_);
    if (!read) co_return read.error();
  }
  co_return Result<void>{};
}

asio::awaitable<Result<void>> ClientExchange::more(Deadline deadline) {
  ClientConnection& connection = **lease_;
  const auto came = co_await connection.fill(deadline);
  if (!came) co_return came.error();
  const auto parsed = *came ? reader_.take(connection.unread()) : reader_.end();
  if (!parsed) co_return wrap(connection.peer(), parsed.error());
  co_return Result<void>{};
}

asio::awaitable<Result<void>> ClientExchange::all() {
  while (!reader_.done()) {
    const auto read = co_await more(deadline_);
    if (!read) co_return read.error();
  }
  co_return Result<void>{};
}

void ClientExchange::finish() {
  const ClientConnection& connection = **lease_;
  const bool clean = sent_ && reader_.done() && (*lease_)->unread().empty();
  if (clean && !connection.lost() && reader_.keep_alive()) {
    lease_->give_back();
  } else {
    close();
  }
}

}  // namespace koordlet::net
