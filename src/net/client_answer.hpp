#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/optional/optional.hpp>

#include "base/result.hpp"
#include "net/http_client.hpp"

/// Seen by .cpp files of this folder only: it pulls in Beast.
namespace koordlet::net {

/// Collects what arrives and reserves nothing on the word of a Content-Length.
struct CollectedBody {
  using value_type = std::string;
  class reader {
   public:
    template <bool isRequest, class Fields>
    reader(boost::beast::http::header<isRequest, Fields>&, value_type& body) : body_{body} {}
    void init(const boost::optional<std::uint64_t>&, boost::system::error_code& ec) { ec = {}; }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::system::error_code& ec) {
      ec = {};
      std::size_t size = 0;
      for (auto at = boost::asio::buffer_sequence_begin(buffers);
           at != boost::asio::buffer_sequence_end(buffers);
           ++at) {
        const boost::asio::const_buffer piece = *at;
        body_.append(static_cast<const char*>(piece.data()), piece.size());
        size += piece.size();
      }
      return size;
    }
    void finish(boost::system::error_code& ec) { ec = {}; }

   private:
    value_type& body_;
  };
};

/// Makes one answer out of bytes. Interim answers (1xx) are skipped, each with a parser of its own.
/// Errors have no peer in their context.
class AnswerReader {
 public:
  struct Bounds {
    std::size_t max_head = 0;
    std::optional<std::size_t> max_body;  ///< none: an endless body that is taken piece by piece
  };
  /// `to_head`: the request was a HEAD, whose answer has no body whatever its header says.
  AnswerReader(Bounds bounds, bool to_head);

  /// Eats from the front of `unread`. kParse: not HTTP; kRange: over a bound.
  Result<void> take(std::string& unread);
  /// The peer has ended its side in order. kIo: in the middle of the answer.
  Result<void> end();

  bool started() const { return started_; }  ///< one byte has come, of an interim answer too
  bool has_head() const { return parser_->is_header_done(); }
  bool done() const { return parser_->is_done(); }
  bool keep_alive() const { return parser_->keep_alive(); }
  unsigned status() const { return parser_->get().result_int(); }
  ResponseHead head() const;  ///< once has_head()
  std::string take_body();    ///< what has been collected since the last call

 private:
  void fresh_parser();
  Result<bool> skip_interim();

  Bounds bounds_;
  bool to_head_;
  bool started_ = false;
  int interim_ = 0;
  std::optional<boost::beast::http::response_parser<CollectedBody>> parser_;
};

}  // namespace koordlet::net
