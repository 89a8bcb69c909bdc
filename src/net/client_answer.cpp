#include "net/client_answer.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <fmt/format.h>

#include "base/parse.hpp"
#include "net/client_connection.hpp"
#include "net/http_date.hpp"

namespace koordlet::net {
namespace http = boost::beast::http;
namespace {

constexpr int kMaxInterim = 8;
constexpr std::chrono::seconds kLongestRetry{365LL * 24 * 3600};

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

/// The server's clock, where it shows one, is the right one to measure its own date with.
std::optional<std::chrono::seconds> parse_retry(std::string_view text,
                                                const std::optional<WallTime>& server_now) {
  text = trim(text);
  if (text.empty()) return std::nullopt;
  const auto seconds = parse_u64(text);
  if (seconds)
    return std::chrono::seconds{std::min<std::uint64_t>(*seconds, kLongestRetry.count())};
  const auto date = parse_http_date(text);
  if (!date) return std::nullopt;
  const WallTime now = server_now ? *server_now : std::chrono::system_clock::now();
  const auto left = std::chrono::ceil<std::chrono::seconds>(*date - now);
  return std::clamp(left, std::chrono::seconds{0}, kLongestRetry);
}

Error parser_error(const boost::system::error_code& ec, const AnswerReader::Bounds& bounds) {
  if (ec == http::error::header_limit)
    return {Errc::kRange, fmt::format("the answer's header is over {} bytes", bounds.max_head)};
  if (ec == http::error::body_limit)
    return {Errc::kRange, fmt::format("the answer is over {} bytes", bounds.max_body.value_or(0))};
  return {Errc::kParse, "the answer is not HTTP: " + ec.message()};
}

}  // namespace

AnswerReader::AnswerReader(Bounds bounds, bool to_head) : bounds_{bounds}, to_head_{to_head} {
  // The parser wants a whole header in one buffer.
  bounds_.max_head = std::min(bounds_.max_head, ClientConnection::kBufferBytes);
  fresh_parser();
}

void AnswerReader::fresh_parser() {
  parser_.emplace();
  parser_->eager(true);
  parser_->skip(to_head_);
  parser_->header_limit(static_cast<std::uint32_t>(bounds_.max_head));
  if (bounds_.max_body) {
    parser_->body_limit(*bounds_.max_body);
  } else {
    parser_->body_limit(boost::none);
  }
}

/// True: the parser held an interim answer and is a fresh one now.
Result<bool> AnswerReader::skip_interim() {
  if (!parser_->is_done() || status() / 100 != 1) return false;
  if (status() == 101 || ++interim_ > kMaxInterim)
    return Error{Errc::kParse, fmt::format("unexpected interim answer {}", status())};
  fresh_parser();
  return true;
}

Result<void> AnswerReader::take(std::string& unread) {
  started_ = started_ || !unread.empty();
  while (!unread.empty() && !parser_->is_done()) {
    boost::system::error_code ec;
    const std::size_t used = parser_->put(boost::asio::buffer(unread), ec);
    unread.erase(0, used);
    if (ec && ec != http::error::need_more) return parser_error(ec, bounds_);
    const auto skipped = skip_interim();
    if (!skipped) return skipped.error();
    if (!*skipped && (ec || used == 0)) break;
  }
  if (!parser_->is_done() && unread.size() >= ClientConnection::kBufferBytes)
    return Error{Errc::kParse, "the answer is not HTTP: a line without end"};
  return {};
}

Result<void> AnswerReader::end() {
  if (!started_) return Error{Errc::kIo, "closed without an answer"};
  if (parser_->is_done()) return {};
  boost::system::error_code ec = http::error::partial_message;
  if (parser_->got_some()) parser_->put_eof(ec);  // Beast asserts it
  if (ec || !parser_->is_done()) return Error{Errc::kIo, "the answer ends early"};
  return {};
}

ResponseHead AnswerReader::head() const {
  const auto& message = parser_->get();
  ResponseHead out;
  out.status = message.result_int();
  out.content_type = std::string{view(message[http::field::content_type])};
  out.date = parse_http_date(trim(view(message[http::field::date])));
  out.retry_after = parse_retry(view(message[http::field::retry_after]), out.date);
  return out;
}

std::string AnswerReader::take_body() { return std::exchange(parser_->get().body(), {}); }

}  // namespace koordlet::net
