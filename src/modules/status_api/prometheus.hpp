#pragma once

#include <memory>
#include <string>

#include "modules/status_api/status_view.hpp"

namespace koordlet::status_api {

/// GET /metrics. One registry for the daemon's life: each call sets the series from the view and
/// drops those that the view no longer holds (a pod that is gone, a value that is unknown). All
/// names start with koordlet_; base units; every series carries `node` once the node is known.
class MetricsExporter {
 public:
  MetricsExporter();
  ~MetricsExporter();
  std::string text(const StatusView& view);
  static constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet::status_api
