#include "net/ttrpc_peer.hpp"

#include <exception>
#include <map>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "base/parse.hpp"
#include "net/grpc_status.hpp"
#include "net/nri_mux.hpp"
#include "reactor/task_group.hpp"

namespace koordlet::net {
namespace asio = boost::asio;
using reactor::use_ec;
namespace {

constexpr std::size_t kInbox = 64 * 1024;  // bytes of one read, and of the work of one handler
constexpr std::size_t kShownWords = 200;
constexpr std::chrono::seconds kPatience{5};  // of a call that names no time limit
constexpr std::uint32_t kLastStream = 0xffffffff;

struct Call {
  explicit Call(const asio::any_io_executor& ex)
      : wake{ex, asio::steady_timer::time_point::max()} {}
  void end(Result<TtrpcResponse> with) {
    outcome = std::move(with);
    wake.cancel();
  }
  asio::steady_timer wake;  ///< cancelled when the outcome is there
  std::optional<Result<TtrpcResponse>> outcome = {};
  bool lost = false;  ///< with the stream: the error names the socket already
};

Result<TtrpcResponse> outcome_of(const TtrpcMessage& message) {
  if (message.oversized)
    return Error{Errc::kRange,
                 fmt::format("expected an answer of {} bytes at most", kTtrpcMostBody)};
  return decode_response(message.body);
}

std::string where_of(const std::string& name, const TtrpcRequest& request) {
  return fmt::format("{}: {}/{}", name, request.service, request.method);
}

}  // namespace

struct TtrpcPeer::State : std::enable_shared_from_this<State> {
  State(asio::local::stream_protocol::socket s, Options o, LateHandler h, OnClose c)
      : socket{std::move(s)},
        options{std::move(o)},
        handler{std::move(h)},
        on_close{std::move(c)},
        inbox(kInbox) {}

  void read();
  void write();
  void send(std::uint32_t connection, const std::string& message);
  void receive(std::string_view bytes);
  void serve(const TtrpcMessage& message);
  void answer(const TtrpcMessage& message, const Reply& reply);
  void take_answer(const TtrpcMessage& message);
  void close(Error why);

  asio::local::stream_protocol::socket socket;
  Options options;
  LateHandler handler;  ///< empty: the TtrpcPeer is gone
  OnClose on_close;     ///< empty: told, or gone
  MuxReader mux = {};
  TtrpcReader requests = {}, responses = {};
  TtrpcStreams streams = {};
  std::map<std::uint32_t, std::shared_ptr<Call>> calls = {};
  std::uint32_t next_stream = 1;
  std::vector<char> inbox;
  std::string unsent = {}, sending = {};
  bool serving = false;                ///< a handler runs
  std::optional<Error> farewell = {};  ///< closes with it once all is sent
  std::optional<Error> failure = {};   ///< closed
};

void TtrpcPeer::State::close(Error why) {
  if (failure) return;
  failure = std::move(why);
  boost::system::error_code ignored;
  socket.close(ignored);
  for (const auto& [id, call] : std::exchange(calls, {})) {
    call->lost = true;
    call->end(*failure);
  }
  if (const auto tell = std::exchange(on_close, {})) tell(*failure);
}

void TtrpcPeer::State::read() {
  socket.async_read_some(
      asio::buffer(inbox),
      [self = shared_from_this()](const boost::system::error_code& ec, std::size_t n) {
        if (self->failure) return;
        if (ec) {
          self->close({Errc::kBusy, self->options.name + ": the peer closed: " + ec.message()});
          return;
        }
        self->receive({self->inbox.data(), n});
        if (!self->failure) self->read();
      });
}

void TtrpcPeer::State::receive(std::string_view bytes) {
  std::vector<MuxPart> parts;
  std::vector<TtrpcMessage> messages;
  const auto fed = mux.feed(bytes, parts);
  for (const auto& part : parts) {
    messages.clear();
    // A connection that nobody knows is the peer's business.
    if (part.connection == options.serves) requests.feed(part.bytes, messages);
    if (part.connection == options.calls) responses.feed(part.bytes, messages);
    for (const auto& message : messages) {
      if (failure) return;
      if (part.connection == options.serves) serve(message);
      if (part.connection == options.calls) take_answer(message);
    }
  }
  if (!fed) close(wrap(options.name, fed.error()));
}

void TtrpcPeer::State::answer(const TtrpcMessage& message, const Reply& reply) {
  if (const auto known = streams.accept(message.stream); !known)
    return reply({kStatusInvalidArgument, known.error().context, {}});
  if (message.oversized) {
    return reply({kStatusResourceExhausted,
                  fmt::format("request: expected at most {} bytes", kTtrpcMostBody),
                  {}});
  }
  const auto request = decode_request(message.body);
  if (!request) return reply({kStatusInvalidArgument, request.error().context, {}});
  try {
    handler(*request, reply);
  } catch (const std::exception& e) {
    reply({kStatusInternal, e.what(), {}});
  } catch (...) {
    reply({kStatusInternal, "unknown failure", {}});
  }
}

void TtrpcPeer::State::serve(const TtrpcMessage& message) {
  if (message.type != TtrpcType::kRequest || farewell) return;
  serving = true;
  answer(message,
         [weak = weak_from_this(), stream = message.stream](const TtrpcResponse& response) {
           const auto self = weak.lock();
           if (!self) return;
           self->serving = false;
           self->send(self->options.serves,
                      ttrpc_bytes(TtrpcType::kResponse, stream, encode(response)));
         });
  serving = false;
}

void TtrpcPeer::State::take_answer(const TtrpcMessage& message) {
  if (message.type != TtrpcType::kResponse) return;
  const auto at = calls.find(message.stream);
  if (at == calls.end()) return;  // its time was up
  const auto call = at->second;
  calls.erase(at);
  call->end(outcome_of(message));
}

void TtrpcPeer::State::send(std::uint32_t connection, const std::string& message) {
  if (failure) return;
  append_mux_frames(unsent, connection, message);
  if (unsent.size() + sending.size() > options.max_unsent) {
    close({Errc::kBusy,
           fmt::format("{}: the peer does not read: {} bytes wait, expected at most {}",
                       options.name,
                       unsent.size() + sending.size(),
                       options.max_unsent)});
    return;
  }
  write();
}

void TtrpcPeer::State::write() {
  if (!sending.empty() || failure) return;
  if (unsent.empty()) {
    if (farewell) close(*farewell);
    return;
  }
  sending = std::exchange(unsent, {});
  asio::async_write(
      socket,
      asio::buffer(sending),
      [self = shared_from_this()](const boost::system::error_code& ec, std::size_t) {
        self->sending.clear();
        if (ec) {
          self->close({Errc::kBusy, self->options.name + ": the peer closed: " + ec.message()});
        }
        self->write();
      });
}

TtrpcPeer::TtrpcPeer(asio::local::stream_protocol::socket socket,
                     Options options,
                     LateHandler handler,
                     OnClose on_close)
    : state_{std::make_shared<State>(
          std::move(socket), std::move(options), std::move(handler), std::move(on_close))} {
  state_->read();
}

TtrpcPeer::TtrpcPeer(asio::local::stream_protocol::socket socket,
                     Options options,
                     Handler handler,
                     OnClose on_close)
    : TtrpcPeer{std::move(socket),
                std::move(options),
                LateHandler{[handler = std::move(handler)](const TtrpcRequest& request,
                                                           const Reply& reply) {
                  reply(handler(request));
                }},
                std::move(on_close)} {}

TtrpcPeer::~TtrpcPeer() {
  state_->on_close = {};
  state_->close({Errc::kIo, state_->options.name + ": the connection was given up"});
  state_->handler = {};
}

void TtrpcPeer::close(Error why) { state_->close(std::move(why)); }

void TtrpcPeer::close_when_sent(Error why) {
  if (!state_->farewell) state_->farewell = std::move(why);
  if (!state_->serving) state_->write();  // else the answer goes out first
}

const std::optional<Error>& TtrpcPeer::failure() const { return state_->failure; }

bool TtrpcPeer::is_sent() const { return state_->sending.empty() && state_->unsent.empty(); }

asio::awaitable<Result<std::string>> TtrpcPeer::call(TtrpcRequest request) {
  return payload(state_, std::move(request));
}

asio::awaitable<Result<TtrpcResponse>> TtrpcPeer::ask(TtrpcRequest request) {
  return exchange(state_, std::move(request));
}

asio::awaitable<Result<std::string>> TtrpcPeer::payload(std::shared_ptr<State> state,
                                                        TtrpcRequest request) {
  const auto where = where_of(state->options.name, request);
  auto response = co_await exchange(std::move(state), std::move(request));
  if (!response) co_return response.error();
  if (response->status == kStatusOk) co_return std::move(response->payload);
  const auto words = response->message.empty() ? std::string{} : ": " + response->message;
  co_return Error{
      errc_of_status(static_cast<std::uint64_t>(response->status)),
      fmt::format("{}: status {}{}", where, response->status, printable(words, kShownWords))};
}

asio::awaitable<Result<TtrpcResponse>> TtrpcPeer::exchange(std::shared_ptr<State> state,
                                                           TtrpcRequest request) {
  const auto where = where_of(state->options.name, request);
  if (state->failure) co_return *state->failure;
  const auto body = encode(request);
  if (body.size() > kTtrpcMostBody) {
    co_return Error{
        Errc::kRange,
        fmt::format("{}: expected {} bytes at most, got {}", where, kTtrpcMostBody, body.size())};
  }
  if (state->next_stream == kLastStream) {
    state->close({Errc::kBusy, state->options.name + ": out of stream numbers"});
    co_return *state->failure;
  }
  const auto stream = std::exchange(state->next_stream, state->next_stream + 2);
  const auto call = std::make_shared<Call>(state->socket.get_executor());
  call->wake.expires_after(request.timeout.value_or(kPatience));
  state->calls.emplace(stream, call);
  state->send(state->options.calls, ttrpc_bytes(TtrpcType::kRequest, stream, body));
  boost::system::error_code cancelled;
  if (!call->outcome) {
    const auto [ec] = co_await call->wake.async_wait(use_ec);
    cancelled = ec;
  }
  if (call->outcome && *call->outcome) co_return std::move(**call->outcome);
  if (call->outcome && call->lost) co_return call->outcome->error();
  if (call->outcome) co_return wrap(where, call->outcome->error());
  state->calls.erase(stream);
  if (cancelled) co_return Error{Errc::kIo, where + ": cancelled"};
  co_return Error{Errc::kBusy, where + ": no answer in time"};
}

}  // namespace koordlet::net
