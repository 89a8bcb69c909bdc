#include "support/fake_nri_runtime.hpp"

#include <algorithm>
#include <optional>
#include <unistd.h>
#include <utility>

#include "support/hex.hpp"

namespace koordlet::test {
namespace asio = boost::asio;
using asio::local::stream_protocol;
using boost::system::error_code;
namespace {

constexpr const char* kPlugin = "nri.pkg.api.v1alpha1.Plugin";

}  // namespace

struct FakeNriRuntime::State : std::enable_shared_from_this<State> {
  State(const asio::any_io_executor& ex, std::string p) : acceptor{ex}, path{std::move(p)} {}

  void listen() {
    ::unlink(path.c_str());
    acceptor.open();
    acceptor.bind(stream_protocol::endpoint{path});
    acceptor.listen();
    accept();
  }
  void accept() {
    acceptor.async_accept(
        [self = shared_from_this()](const error_code& ec, stream_protocol::socket socket) {
          if (ec) return;
          self->begin(std::move(socket));
          self->accept();
        });
  }
  std::size_t open() const {
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [](const auto& c) { return c->is_open(); }));
  }
  void begin(stream_protocol::socket socket) {
    ++accepted;
    current_fault = left-- > 0 ? fault : NriFault::kNone;
    part = 0;
    steps.reset();
    const std::weak_ptr<State> weak = weak_from_this();
    current = std::make_shared<RawTtrpc>(
        std::move(socket), [weak](RawTtrpc& raw, std::uint32_t stream, net::TtrpcRequest request) {
          if (const auto self = weak.lock()) self->take(raw, stream, std::move(request));
        });
    current->on_answer([weak](std::uint32_t stream) {
      if (const auto self = weak.lock()) self->advance(stream);
    });
    all.push_back(current);
    most_open = std::max(most_open, open());
    if (current_fault == NriFault::kCloseAtOnce) current->close();
    if (current_fault != NriFault::kMute && current->is_open()) current->start();
  }
  void take(RawTtrpc& raw, std::uint32_t stream, net::TtrpcRequest request) {
    if (request.method == "UpdateContainers") {
      updates.push_back(std::move(request.payload));
      if (!updates_held) raw.respond(stream, updates_answer);
      return;
    }
    registrations.push_back(std::move(request.payload));
    switch (current_fault) {
      case NriFault::kNoAnswer:
        return;
      case NriFault::kRefuse:
        return raw.respond(stream, {7, "plugins are off", {}});
      case NriFault::kCloseInRegister:
        return raw.close();
      case NriFault::kGarbage:
        return raw.say(from_hex("00 00 00 02 7f ff ff ff"));
      case NriFault::kNoSync:
        return raw.respond(stream, {});
      case NriFault::kConfigureFirst:
        steps = raw.ask({kPlugin, "Configure", configure, {}});
        return raw.respond(stream, {});
      default:
        raw.respond(stream, {});
        steps = raw.ask({kPlugin, "Configure", configure, {}});
    }
  }
  /// The next step of the handshake when `stream` was its last one.
  void advance(std::uint32_t stream) {
    if (!steps || *steps != stream) return;
    handshake.push_back(*current->answer(stream));
    steps.reset();
    if (part == 1 && current_fault == NriFault::kCloseInSync) return current->close();
    if (part >= parts.size()) return;
    steps = current->ask({kPlugin, "Synchronize", parts[part++], {}});
  }

  stream_protocol::acceptor acceptor;
  std::string path;
  NriFault fault = NriFault::kNone, current_fault = NriFault::kNone;
  int left = 0, accepted = 0;
  std::vector<std::string> parts{std::string{}};
  std::string configure;
  net::TtrpcResponse updates_answer;
  bool updates_held = false;
  std::size_t part = 0, most_open = 0;
  std::optional<std::uint32_t> steps;  ///< the stream of the last step
  std::shared_ptr<RawTtrpc> current;
  std::vector<std::shared_ptr<RawTtrpc>> all;
  std::vector<std::string> registrations, updates;
  std::vector<net::TtrpcResponse> handshake;
};

FakeNriRuntime::FakeNriRuntime(asio::any_io_executor ex, std::string path)
    : state_{std::make_shared<State>(ex, std::move(path))} {
  state_->listen();
}
FakeNriRuntime::~FakeNriRuntime() {
  stop_listening();
  for (const auto& connection : state_->all) connection->close();
}

void FakeNriRuntime::set_fault(NriFault fault, int connections) {
  state_->fault = fault;
  state_->left = connections;
}
void FakeNriRuntime::set_parts(std::vector<std::string> parts) { state_->parts = std::move(parts); }
void FakeNriRuntime::set_configure(std::string body) { state_->configure = std::move(body); }
void FakeNriRuntime::set_updates_answer(net::TtrpcResponse response, bool held) {
  state_->updates_answer = std::move(response);
  state_->updates_held = held;
}
std::uint32_t FakeNriRuntime::ask(const std::string& method, const std::string& body) {
  return state_->current->ask({kPlugin, method, body, {}});
}
const net::TtrpcResponse* FakeNriRuntime::answer(std::uint32_t stream) const {
  return state_->current->answer(stream);
}
void FakeNriRuntime::say(std::string bytes) { state_->current->say(std::move(bytes)); }
void FakeNriRuntime::drop() { state_->current->close(); }
void FakeNriRuntime::stop_listening() {
  error_code ignored;
  state_->acceptor.close(ignored);
  ::unlink(state_->path.c_str());
}
void FakeNriRuntime::listen_again() { state_->listen(); }
int FakeNriRuntime::accepted() const { return state_->accepted; }
std::size_t FakeNriRuntime::open() const { return state_->open(); }
std::size_t FakeNriRuntime::most_open() const { return state_->most_open; }
const std::vector<std::string>& FakeNriRuntime::registrations() const {
  return state_->registrations;
}
const std::vector<std::string>& FakeNriRuntime::updates() const { return state_->updates; }
const std::vector<net::TtrpcResponse>& FakeNriRuntime::handshake() const {
  return state_->handshake;
}

}  // namespace koordlet::test
