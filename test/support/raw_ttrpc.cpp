#include "support/raw_ttrpc.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

namespace koordlet::test {
namespace asio = boost::asio;
using boost::system::error_code;

void RawTtrpc::say(std::string bytes) {
  outbox_ += bytes;
  write();
}

std::uint32_t RawTtrpc::ask(const net::TtrpcRequest& request) {
  const auto stream = std::exchange(next_, next_ + 2);
  ask(stream, request);
  return stream;
}

void RawTtrpc::ask(std::uint32_t stream, const net::TtrpcRequest& request) {
  std::string bytes;
  net::append_mux_frames(
      bytes, 1, net::ttrpc_bytes(net::TtrpcType::kRequest, stream, net::encode(request)));
  say(std::move(bytes));
}

void RawTtrpc::respond(std::uint32_t stream, const net::TtrpcResponse& response) {
  std::string bytes;
  net::append_mux_frames(
      bytes, 2, net::ttrpc_bytes(net::TtrpcType::kResponse, stream, net::encode(response)));
  say(std::move(bytes));
}

void RawTtrpc::close() {
  error_code ignored;
  socket_.close(ignored);
}

const net::TtrpcResponse* RawTtrpc::answer(std::uint32_t stream) const {
  const auto at = answers_.find(stream);
  return at == answers_.end() ? nullptr : &at->second;
}

void RawTtrpc::read() {
  socket_.async_read_some(asio::buffer(inbox_),
                          [self = shared_from_this()](const error_code& ec, std::size_t n) {
                            if (ec) {
                              self->close();
                              return;
                            }
                            const std::string_view bytes{self->inbox_.data(), n};
                            self->heard_ += n;
                            self->measure(bytes);
                            std::vector<net::MuxPart> parts;
                            if (self->mux_.feed(bytes, parts)) self->take(parts);
                            if (self->is_open()) self->read();
                          });
}

void RawTtrpc::measure(std::string_view bytes) {
  for (const char c : bytes) {
    if (skip_ > 0) {
      --skip_;
      continue;
    }
    headers_ += c;
    if (headers_.size() < 8) continue;
    for (int i = 4; i < 8; ++i) skip_ = skip_ << 8 | static_cast<unsigned char>(headers_[i]);
    longest_ = std::max(longest_, skip_);
    headers_.clear();
  }
}

void RawTtrpc::take(const std::vector<net::MuxPart>& parts) {
  for (const auto& part : parts) {
    std::vector<net::TtrpcMessage> messages;
    (part.connection == 1 ? responses_ : requests_).feed(part.bytes, messages);
    for (const auto& message : messages) {
      if (message.type == net::TtrpcType::kResponse) {
        auto response = net::decode_response(message.body);
        if (response) answers_[message.stream] = *response;
        if (response && on_answer_) on_answer_(message.stream);
        continue;
      }
      auto request = net::decode_request(message.body);
      if (request && on_request_) on_request_(*this, message.stream, *request);
    }
  }
}

void RawTtrpc::write() {
  if (!sending_.empty() || outbox_.empty()) return;
  sending_ = std::exchange(outbox_, {});
  asio::async_write(socket_,
                    asio::buffer(sending_),
                    [self = shared_from_this()](const error_code& ec, std::size_t) {
                      self->sending_.clear();
                      if (!ec) self->write();
                    });
}

}  // namespace koordlet::test
