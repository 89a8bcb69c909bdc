#include "net/grpc_upstream.hpp"

#include <utility>

#include <boost/asio/post.hpp>

#include "net/unix_connect.hpp"

namespace koordlet::net {

GrpcUpstream::GrpcUpstream(boost::asio::any_io_executor ex, std::string socket)
    : ex_{std::move(ex)}, socket_{std::move(socket)} {}

GrpcUpstream::~GrpcUpstream() {
  for (const auto& weak : all_)
    if (const auto link = weak.lock()) link->close();
}

Result<std::shared_ptr<Http2Link>> GrpcUpstream::usable() {
  if (current_ && current_->is_usable()) return current_;
  auto socket = connect_unix(ex_, socket_);
  if (!socket) return socket.error();
  Http2Link::Options options;
  options.name = socket_;
  auto made = std::make_shared<Http2Link>(std::move(*socket), std::move(options));
  if (const auto started = made->start(); !started) return started.error();
  std::erase_if(all_, [](const auto& weak) { return weak.expired(); });
  all_.push_back(made);
  current_ = made;
  ++connections_;
  if (on_connection_) boost::asio::post(ex_, on_connection_);
  return made;
}

Result<std::shared_ptr<Http2Stream>> GrpcUpstream::open(const Http2Headers& head, bool end) {
  for (bool again = false;; again = true) {
    const auto link = usable();
    if (!link) return link.error();
    auto stream = (*link)->open(head, end);
    // Out of stream ids: the next connection has them.
    if (stream || again) return stream;
  }
}

std::size_t GrpcUpstream::streams() const {
  std::size_t out = 0;
  for (const auto& weak : all_)
    if (const auto link = weak.lock()) out += link->streams();
  return out;
}

void GrpcUpstream::drain() {
  if (current_) current_->drain();
}

}  // namespace koordlet::net
