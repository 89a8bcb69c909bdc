#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "net/http_server.hpp"

/// The dashboard: a page and its files, compiled into the program (cmake/Dashboard.cmake).
namespace koordlet::status_api {

/// One file. All texts live as long as the program.
struct Asset {
  std::string_view name;  ///< "app.js"; the page is "index.html"
  std::string_view content_type;
  std::string_view etag;  ///< quoted, of the content
  std::string_view body;
};

/// Written by the build, in no order.
std::span<const Asset> dashboard_assets();

/// Whether "/" is to be answered with the page: unless Accept names text/plain and not text/html.
bool wants_page(const net::HttpRequest& request);

/// 200, or 304 when If-None-Match names this very content. Both forbid the browser anything but
/// this daemon: no other host, no inline script, no frame.
net::HttpResponse dashboard_page(const net::HttpRequest& request);

/// A file by its name, the page left out; nullopt: there is none.
std::optional<net::HttpResponse> dashboard_asset(std::string_view name,
                                                 const net::HttpRequest& request);

}  // namespace koordlet::status_api
