#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "base/result.hpp"
#include "net/ttrpc.hpp"

namespace koordlet::net {

/// Both sides of ttrpc on one stream that carries several connections (nri_mux.hpp): a server of
/// the one, a client of the other. Starts to read at once, so that a request may come before the
/// answer to the first call. Loop thread.
///
/// The stream ends when the peer closes it, breaks the framing, or does not read what is written to
/// it; then every call that runs ends with that error.
class TtrpcPeer {
 public:
  struct Options {
    std::string name;                    ///< of the peer, for errors: its socket
    std::uint32_t serves = 1;            ///< connection on which requests come
    std::uint32_t calls = 2;             ///< connection on which calls go out
    std::size_t max_unsent = 16u << 20;  ///< bytes that the peer has not taken yet; more: it ends
  };
  /// Answers a request, at once. What it throws becomes status 13. Must not destroy the TtrpcPeer.
  using Handler = std::function<TtrpcResponse(const TtrpcRequest&)>;
  /// The same for one that cannot answer at once: `reply` may be called later, once, and when the
  /// TtrpcPeer is gone (it does nothing then).
  using Reply = std::function<void(TtrpcResponse)>;
  using LateHandler = std::function<void(const TtrpcRequest&, Reply reply)>;
  /// Told once, when the stream ended by itself. Must not destroy the TtrpcPeer.
  using OnClose = std::function<void(const Error&)>;

  TtrpcPeer(boost::asio::local::stream_protocol::socket socket,
            Options options,
            Handler handler,
            OnClose on_close);
  TtrpcPeer(boost::asio::local::stream_protocol::socket socket,
            Options options,
            LateHandler handler,
            OnClose on_close);
  /// Ends the stream; neither function is called any more. Calls that run end with kIo and need
  /// nothing of the object.
  ~TtrpcPeer();
  TtrpcPeer(const TtrpcPeer&) = delete;
  TtrpcPeer& operator=(const TtrpcPeer&) = delete;

  /// The payload of the answer. `request.timeout` is the time limit here too (5 s when it is
  /// not set). kBusy:
  /// no answer in time (one that comes later is dropped), or the stream ended; kRange: a request or
  /// an answer above 4 MiB; kParse: no ttrpc answer; kIo: "cancelled", after a cancel of the
  /// calling coroutine; a status as errc_of_status() has it. The context names socket and method.
  /// Calls may overlap.
  boost::asio::awaitable<Result<std::string>> call(TtrpcRequest request);
  /// The same with the status as a part of the answer.
  boost::asio::awaitable<Result<TtrpcResponse>> ask(TtrpcRequest request);

  void close(Error why);
  void close_when_sent(Error why);              ///< takes no requests any more
  const std::optional<Error>& failure() const;  ///< nullopt: open
  bool is_sent() const;                         ///< the peer has all that was written

 private:
  struct State;
  static boost::asio::awaitable<Result<TtrpcResponse>> exchange(std::shared_ptr<State> state,
                                                                TtrpcRequest request);
  static boost::asio::awaitable<Result<std::string>> payload(std::shared_ptr<State> state,
                                                             TtrpcRequest request);
  std::shared_ptr<State> state_;  ///< reads, writes and calls hold it too
};

}  // namespace koordlet::net
