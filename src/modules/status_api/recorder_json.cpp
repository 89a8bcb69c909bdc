#include "modules/status_api/recorder_json.hpp"

namespace koordlet::status_api {
namespace {

json::value wall_text(const std::optional<WallTime>& t) {
  return t ? json::value(rfc3339(*t)) : json::value(nullptr);
}

}  // namespace

net::HttpResponse recorder(const StatusView& view) {
  const auto r = view.recorder.value_or(StatusView::Recorder{});
  json::object body;
  body["enabled"] = view.recorder.has_value();
  body["folder"] = text_or_null(r.folder);
  body["size_bytes"] = r.size;
  body["bytes"] = r.bytes;
  body["segments"] = r.segments;
  body["oldest"] = wall_text(r.oldest);
  body["newest"] = wall_text(r.newest);
  body["lag_ms"] = r.lag.count();
  body["ticks"] = r.ticks;
  body["written_bytes"] = r.written_bytes;
  body["dropped_ticks"] = r.dropped;
  body["fault"] = text_or_null(r.fault);
  return json_response(200, std::move(body));
}

}  // namespace koordlet::status_api
