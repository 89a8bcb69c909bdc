#include "support/fake_http_server.hpp"

#include <openssl/ssl.h>
#include <stdexcept>
#include <strings.h>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>

#include "reactor/task_group.hpp"
#include "support/fake_http_session.hpp"

namespace koordlet::test {
namespace asio = boost::asio;
using asio::ip::tcp;
using reactor::use_ec;
namespace {

std::shared_ptr<asio::ssl::context> make_context(const FakeHttpServer::Tls& tls) {
  auto out = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  out->use_certificate_chain(asio::buffer(tls.server.cert_pem));
  out->use_private_key(asio::buffer(tls.server.key_pem), asio::ssl::context::pem);
  if (!tls.client_ca_pem.empty()) {
    out->add_certificate_authority(asio::buffer(tls.client_ca_pem));
    out->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
  }
  return out;
}

FakeHttpServer::Script checked(FakeHttpServer::Script script) {
  if (!script) throw std::invalid_argument{"fake HTTP server: no script"};
  return script;
}

asio::awaitable<void> answer_once(std::shared_ptr<const FakeHttpServer::Answer> answer,
                                  FakeConnection& connection) {
  FakeAnswer made = (*answer)(connection.request());
  co_await connection.answer(std::move(made));
}

/// A script that throws is a fault of the test: it leaves through io_context::run().
void pass_on(const std::exception_ptr& failure) {
  if (failure) std::rethrow_exception(failure);
}

asio::awaitable<void> accept_all(std::shared_ptr<tcp::acceptor> acceptor,
                                 std::shared_ptr<FakeSessions> all) {
  for (;;) {
    tcp::socket socket{acceptor->get_executor()};
    const auto [ec] = co_await acceptor->async_accept(socket, use_ec);
    if (!acceptor->is_open() || ec == asio::error::operation_aborted) co_return;
    if (ec) continue;
    auto session = std::make_shared<FakeSession>(all, std::move(socket));
    asio::co_spawn(acceptor->get_executor(), FakeSession::run(std::move(session)), pass_on);
  }
}

}  // namespace

std::string FakeRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key.size() == name.size() && ::strncasecmp(key.data(), name.data(), name.size()) == 0)
      return value;
  return {};
}

struct FakeHttpServer::State {
  asio::any_io_executor ex;
  std::shared_ptr<FakeSessions> all = std::make_shared<FakeSessions>();
  std::shared_ptr<tcp::acceptor> acceptor;
  std::uint16_t port = 0;

  void listen() {
    const tcp::endpoint at{asio::ip::address_v4::loopback(), port};
    acceptor = std::make_shared<tcp::acceptor>(ex, at, true);
    port = acceptor->local_endpoint().port();
    asio::co_spawn(ex, accept_all(acceptor, all), pass_on);
  }
};

FakeHttpServer::FakeHttpServer(asio::any_io_executor ex, Script script, std::optional<Tls> tls)
    : state_{std::make_shared<State>()} {
  state_->ex = std::move(ex);
  set_script(std::move(script));
  if (tls) set_tls(std::move(*tls));
  state_->listen();
}

FakeHttpServer::~FakeHttpServer() {
  state_->all->script = nullptr;
  stop_listening();
  drop_connections();
}

FakeHttpServer::Script FakeHttpServer::answering(Answer answer) {
  auto kept = std::make_shared<const Answer>(std::move(answer));
  return [kept](FakeConnection& connection) { return answer_once(kept, connection); };
}

void FakeHttpServer::set_script(Script script) {
  state_->all->script = std::make_shared<const Script>(checked(std::move(script)));
}

void FakeHttpServer::set_tls(Tls tls) { state_->all->tls = make_context(tls); }
void FakeHttpServer::set_mute(bool mute) { state_->all->mute = mute; }
std::uint16_t FakeHttpServer::port() const { return state_->port; }

net::HttpEndpoint FakeHttpServer::endpoint() const {
  net::HttpEndpoint out;
  out.tls = state_->all->tls != nullptr;
  out.host = "127.0.0.1";
  out.port = state_->port;
  return out;
}

void FakeHttpServer::stop_listening() {
  boost::system::error_code ignored;
  if (state_->acceptor) state_->acceptor->close(ignored);
  state_->acceptor = nullptr;
}

void FakeHttpServer::listen_again() {
  if (!state_->acceptor) state_->listen();
}

void FakeHttpServer::drop_connections() {
  const auto open = state_->all->open;  // a session may leave the set meanwhile
  for (FakeSession* session : open) session->reset();
}

const std::vector<FakeRequest>& FakeHttpServer::requests() const { return state_->all->requests; }
int FakeHttpServer::accepted() const { return state_->all->accepted; }
std::size_t FakeHttpServer::connections() const { return state_->all->open.size(); }

}  // namespace koordlet::test
