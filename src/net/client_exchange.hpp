#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "net/client_answer.hpp"
#include "net/client_pool.hpp"

/// Seen by .cpp files of this folder only: it pulls in Beast.
namespace koordlet::net {

/// One request and its answer. Ends with the connection given back when the answer was read whole
/// and the peer keeps it open, and closed otherwise.
class ClientExchange {
 public:
  struct Plan {
    std::chrono::milliseconds limit;      ///< from send, see `until_end`
    bool until_end = true;                ///< else the limit is for the head only
    std::optional<std::size_t> max_body;  ///< none: no bound
  };
  /// Sends and reads up to the head. A kept connection that is closed before the answer's first
  /// byte is replaced once by a new one.
  static boost::asio::awaitable<Result<std::unique_ptr<ClientExchange>>> begin(
      std::shared_ptr<ClientPool> pool, ClientRequest request, Plan plan);
  ClientExchange(std::unique_ptr<ClientPool::Lease> lease,
                 AnswerReader::Bounds bounds,
                 bool to_head,
                 Deadline deadline);

  /// Reads once. After an error or the end nothing more may be read.
  boost::asio::awaitable<Result<void>> more(Deadline deadline);
  /// The rest, until the deadline of begin().
  boost::asio::awaitable<Result<void>> all();
  bool done() const { return reader_.done(); }
  ResponseHead head() const { return reader_.head(); }
  std::string take_body() { return reader_.take_body(); }
  void finish();  ///< once done(): gives the connection back if it is good
  void close() { (*lease_)->close(); }

 private:
  boost::asio::awaitable<Result<void>> talk(std::string_view bytes);
  bool may_repeat() const;

  std::unique_ptr<ClientPool::Lease> lease_;
  AnswerReader reader_;
  Deadline deadline_;
  bool sent_ = false;
};

}  // namespace koordlet::net
