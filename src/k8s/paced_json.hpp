#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/stream_parser.hpp>
#include <boost/json/value.hpp>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace koordlet::k8s {

/// Keeps long work from holding the loop: breathe() between the steps gives the loop a turn
/// whenever a slice is used up. The clock must outlive it.
class Pace {
 public:
  Pace(boost::asio::any_io_executor ex, const Clock& clock, std::chrono::milliseconds slice)
      : ex_{std::move(ex)}, clock_{&clock}, slice_{slice}, since_{clock.now()} {}

  /// Throws operation_aborted when the coroutine is cancelled.
  boost::asio::awaitable<void> breathe();
  MonoTime now() const { return clock_->now(); }

 private:
  boost::asio::any_io_executor ex_;
  const Clock* clock_;
  std::chrono::milliseconds slice_;
  MonoTime since_;
};

/// One JSON text that comes in pieces. Invalid UTF-8 and more than 64 levels are refused.
class JsonFeed {
 public:
  JsonFeed();
  Result<void> feed(std::string_view piece);  ///< kParse; the feed is dead then
  Result<boost::json::value> finish();        ///< kParse when the text is not whole

 private:
  boost::json::stream_parser parser_;
};

/// A whole text, paced. `text` must stay until the end.
boost::asio::awaitable<Result<boost::json::value>> parse_paced(std::string_view text, Pace& pace);

}  // namespace koordlet::k8s
