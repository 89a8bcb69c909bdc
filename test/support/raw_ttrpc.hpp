#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/local/stream_protocol.hpp>

#include "net/nri_mux.hpp"
#include "net/ttrpc.hpp"

namespace koordlet::test {

/// The other end of a TtrpcPeer: understands what comes and says any bytes. Held by its reads and
/// writes. On the caller's loop.
class RawTtrpc : public std::enable_shared_from_this<RawTtrpc> {
 public:
  using Socket = boost::asio::local::stream_protocol::socket;
  using OnRequest = std::function<void(RawTtrpc&, std::uint32_t stream, net::TtrpcRequest)>;

  /// Calls go out on connection 1 and come in on 2, as at a container runtime.
  explicit RawTtrpc(Socket socket, OnRequest on_request = {})
      : socket_{std::move(socket)}, on_request_{std::move(on_request)} {}
  /// Told of each answer to ask().
  void on_answer(std::function<void(std::uint32_t stream)> tell) { on_answer_ = std::move(tell); }
  void start() { read(); }  ///< without: nothing is ever read
  void say(std::string bytes);
  /// A request on connection 1; its stream. Numbers rise from 1.
  std::uint32_t ask(const net::TtrpcRequest& request);
  void ask(std::uint32_t stream, const net::TtrpcRequest& request);
  void respond(std::uint32_t stream, const net::TtrpcResponse& response);
  void close();

  bool is_open() const { return socket_.is_open(); }
  /// nullptr: no answer yet.
  const net::TtrpcResponse* answer(std::uint32_t stream) const;
  std::size_t answers() const { return answers_.size(); }
  std::size_t heard() const { return heard_; }            ///< bytes
  std::size_t longest_frame() const { return longest_; }  ///< payload of the frames that came

 private:
  void read();
  void write();
  void take(const std::vector<net::MuxPart>& parts);
  void measure(std::string_view bytes);

  Socket socket_;
  OnRequest on_request_;
  std::function<void(std::uint32_t)> on_answer_;
  net::MuxReader mux_;
  net::TtrpcReader requests_, responses_;
  std::string inbox_ = std::string(65'536, '\0');
  std::string outbox_, sending_, headers_;
  std::map<std::uint32_t, net::TtrpcResponse> answers_;
  std::uint32_t next_ = 1;
  std::size_t heard_ = 0, longest_ = 0, skip_ = 0;
};

}  // namespace koordlet::test
