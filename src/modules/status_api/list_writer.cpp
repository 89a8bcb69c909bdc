#include "modules/status_api/list_writer.hpp"

#include <algorithm>
#include <array>

#include <boost/json/serialize.hpp>

namespace koordlet::status_api {

namespace {

constexpr std::size_t kItemBytes = 512;  ///< a pod's summary takes about 480

}  // namespace

ListWriter::ListWriter(std::string_view field, const Page& page, std::size_t most)
    : limit_{page.limit} {
  body_.reserve(kItemBytes * std::min(most, static_cast<std::size_t>(page.limit)) + 4096);
  body_ += "{\"";
  body_ += field;
  body_ += "\":[";
}

bool ListWriter::take(bool is_after) {
  ++total_;
  if (!is_after) return false;
  if (taken_ == limit_) {
    ++remaining_;
    return false;
  }
  ++taken_;
  return true;
}

void ListWriter::add(const boost::json::value& item, std::string_view name) {
  if (taken_ > 1) body_ += ',';
  std::array<char, 4096> chunk;
  serializer_.reset(&item);
  while (!serializer_.done()) body_ += serializer_.read(chunk.data(), chunk.size());
  last_ = name;
}

net::HttpResponse ListWriter::finish(std::string_view filter, boost::json::object extra) {
  extra["total"] = total_;
  extra["remaining"] = remaining_;
  if (remaining_ > 0) {
    extra["continue"] = make_token(last_, filter);
  } else {
    extra["continue"] = nullptr;
  }
  const auto rest = boost::json::serialize(extra);
  body_ += "],";
  body_ += std::string_view{rest}.substr(1);
  body_ += '\n';
  net::HttpResponse out;
  out.body = std::move(body_);
  return out;
}

}  // namespace koordlet::status_api
