#include "support/fake_cri_server.hpp"

#include <algorithm>
#include <unistd.h>

#include "support/fake_cri_state.hpp"

namespace koordlet::test {
namespace asio = boost::asio;
using asio::local::stream_protocol;

std::string grpc_message(std::string_view message, std::optional<std::uint32_t> length) {
  const auto size = length.value_or(static_cast<std::uint32_t>(message.size()));
  std::string out(1, '\0');
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(size >> shift & 0xff);
  return out.append(message);
}

std::string GrpcCall::header(std::string_view name) const {
  const auto at =
      std::find_if(headers.begin(), headers.end(), [&](const auto& h) { return h.first == name; });
  return at == headers.end() ? std::string{} : at->second;
}

void FakeCriServer::State::listen() {
  ::unlink(path.c_str());
  acceptor.open();
  acceptor.bind(stream_protocol::endpoint{path});
  acceptor.listen();
  accept();
}

void FakeCriServer::State::accept() {
  acceptor.async_accept([self = shared_from_this()](const boost::system::error_code& ec,
                                                    stream_protocol::socket socket) {
    if (ec || !self->script) return;
    ++self->accepted;
    if (self->closing > 0) {
      --self->closing;
      socket.close();
    } else if (self->mute) {
      self->muted.push_back(std::move(socket));
    } else {
      const auto made = std::make_shared<FakeCriConnection>(std::move(socket), self);
      self->connections.push_back(made);
      made->start();
    }
    self->accept();
  });
}

std::vector<std::shared_ptr<FakeCriConnection>> FakeCriServer::State::open() const {
  std::vector<std::shared_ptr<FakeCriConnection>> out;
  for (const auto& weak : connections)
    if (auto connection = weak.lock(); connection && connection->is_open())
      out.push_back(std::move(connection));
  return out;
}

FakeCriServer::FakeCriServer(asio::any_io_executor ex, std::string path, Script script)
    : state_{std::make_shared<State>(ex)} {
  state_->path = std::move(path);
  state_->script = std::move(script);
  state_->listen();
}

FakeCriServer::~FakeCriServer() {
  state_->script = nullptr;
  stop_listening();
  drop_connections();
}

void FakeCriServer::set_script(Script script) { state_->script = std::move(script); }
void FakeCriServer::release() {
  for (const auto& connection : state_->open()) connection->release();
}
void FakeCriServer::set_split(bool split) { state_->split = split; }
void FakeCriServer::set_mute(bool mute) { state_->mute = mute; }
void FakeCriServer::set_max_streams(std::uint32_t count) { state_->max_streams = count; }
void FakeCriServer::close_next(int count) { state_->closing = count; }
void FakeCriServer::ping() {
  for (const auto& connection : state_->open()) connection->ping();
}
void FakeCriServer::stop_listening() {
  boost::system::error_code ignored;
  state_->acceptor.close(ignored);
}
void FakeCriServer::listen_again() { state_->listen(); }
void FakeCriServer::drop_connections() {
  for (const auto& connection : state_->open()) connection->close();
  state_->muted.clear();
}

const std::vector<GrpcCall>& FakeCriServer::calls() const { return state_->calls; }
int FakeCriServer::accepted() const { return state_->accepted; }
std::size_t FakeCriServer::connections() const {
  return state_->open().size() + state_->muted.size();
}
std::size_t FakeCriServer::streams() const {
  std::size_t out = 0;
  for (const auto& connection : state_->open()) out += connection->streams();
  return out;
}
const std::vector<std::uint32_t>& FakeCriServer::resets() const { return state_->resets; }
const std::vector<std::uint32_t>& FakeCriServer::goaways() const { return state_->goaways; }
int FakeCriServer::pongs() const { return state_->pongs; }

}  // namespace koordlet::test
