#pragma once

#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/serializer.hpp>

#include "modules/status_api/query.hpp"
#include "net/http_server.hpp"

namespace koordlet::status_api {

/// Writes {"<field>": [...], "total", "remaining", "continue", ...}, one item at a time: a page of
/// 1000 as one tree of values costs a megabyte of fresh pages, and their faults more than the work.
class ListWriter {
 public:
  /// `most`: items that the whole list may have, to size the text once.
  ListWriter(std::string_view field, const Page& page, std::size_t most);
  /// Counts an item of the whole list. True when it belongs to this page: then add() it.
  /// `is_after`: it comes behind the page before.
  bool take(bool is_after);
  /// `name` is what a token remembers of the item.
  void add(const boost::json::value& item, std::string_view name);
  /// The page ends here, before its limit: what take() is told of from now on remains.
  void stop() { limit_ = taken_; }
  /// The item that take() has just accepted cannot be shown: it remains, and the page ends.
  void give_back() {
    --taken_;
    ++remaining_;
    stop();
  }
  /// `extra` fields stand beside the items.
  net::HttpResponse finish(std::string_view filter, boost::json::object extra = {});

 private:
  std::int64_t limit_;
  std::int64_t total_ = 0;
  std::int64_t taken_ = 0;
  std::int64_t remaining_ = 0;
  std::string last_;
  std::string body_;
  boost::json::serializer serializer_;
};

}  // namespace koordlet::status_api
