#include "k8s/paced_json.hpp"

#include <algorithm>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "base/parse.hpp"
#include "k8s/yaml_reader.hpp"

namespace koordlet::k8s {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

/// Parsed in well under a slice.
constexpr std::size_t kPiece = 16 * 1024;

json::parse_options options() {
  json::parse_options out;
  out.max_depth = kMaxDepth;
  return out;
}

}  // namespace

asio::awaitable<void> Pace::breathe() {
  if (clock_->now() - since_ < slice_) co_return;
  co_await asio::post(ex_, asio::use_awaitable);
  since_ = clock_->now();
}

JsonFeed::JsonFeed() : parser_{{}, options()} {}

Result<void> JsonFeed::feed(std::string_view piece) {
  boost::system::error_code ec;
  parser_.write(piece.data(), piece.size(), ec);
  if (ec) return Error{Errc::kParse, fmt::format("not JSON: {}", ec.message())};
  return {};
}

Result<json::value> JsonFeed::finish() {
  boost::system::error_code ec;
  parser_.finish(ec);
  if (ec) return Error{Errc::kParse, fmt::format("not JSON: {}", ec.message())};
  return parser_.release();
}

asio::awaitable<Result<json::value>> parse_paced(std::string_view text, Pace& pace) {
  JsonFeed feed;
  while (!text.empty()) {
    const auto piece = text.substr(0, kPiece);
    text.remove_prefix(piece.size());
    if (auto fed = feed.feed(piece); !fed) co_return fed.error();
    co_await pace.breathe();
  }
  co_return feed.finish();
}

}  // namespace koordlet::k8s
