#include "k8s/answer_reader.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/parse.hpp"

namespace koordlet::k8s {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

constexpr std::size_t kMaxRefusal = 64 * 1024;
constexpr std::size_t kShown = 120;

}  // namespace

Error not_json(const Error& error, std::string_view text) {
  return Error{error.code, fmt::format("{}: '{}'", error.context, printable(text, kShown))};
}

asio::awaitable<Result<json::value>> read_page(net::HttpStream& stream,
                                               PageBounds bounds,
                                               Pace& pace) {
  const auto started = pace.now();
  JsonFeed feed;
  std::string first;
  std::size_t size = 0;
  for (;;) {
    auto piece = co_await stream.read(bounds.silence);
    if (!piece) co_return piece.error();
    if (piece->empty()) break;
    size += piece->size();
    if (size > bounds.max_bytes) {
      co_return Error{Errc::kRange, fmt::format("a page of over {} bytes", bounds.max_bytes)};
    }
    if (first.size() < kShown) first.append(*piece, 0, kShown - first.size());
    if (auto fed = feed.feed(*piece); !fed) co_return not_json(fed.error(), first);
    if (pace.now() - started > bounds.total) {
      co_return Error{Errc::kBusy, fmt::format("a page took over {} ms", bounds.total.count())};
    }
    co_await pace.breathe();
  }
  auto body = feed.finish();
  if (!body) co_return not_json(body.error(), first);
  co_return std::move(*body);
}

asio::awaitable<Refusal> read_refused(net::HttpStream& stream, std::chrono::milliseconds silence) {
  const auto head = stream.head();
  std::string text;
  while (text.size() < kMaxRefusal) {
    auto piece = co_await stream.read(silence);
    if (!piece || piece->empty()) break;
    text += *piece;
  }
  JsonFeed feed;
  auto body = feed.feed(text) ? feed.finish() : Result<json::value>{Error{Errc::kParse, {}}};
  if (!body && !text.empty()) body = json::value(printable(text, kShown));
  auto value = body ? std::move(*body) : json::value{};
  co_return read_refusal(head.status, std::move(value), head.retry_after);
}

}  // namespace koordlet::k8s
