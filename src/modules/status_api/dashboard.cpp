#include "modules/status_api/dashboard.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace koordlet::status_api {

namespace {

using net::HttpRequest;
using net::HttpResponse;

constexpr std::string_view kPage = "index.html";

/// Scripts, styles, pictures and data from this listener alone. Pod names and annotations are
/// text of strangers: should one ever become markup, the browser still runs nothing of it.
constexpr std::string_view kPolicy =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Permissions-Policy: camera=(), geolocation=(), microphone=()\r\n"
    "Referrer-Policy: no-referrer\r\n";

const Asset* find_asset(std::string_view name) {
  const auto all = dashboard_assets();
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const auto& a) { return a.name == name; });
  return at == all.end() ? nullptr : &*at;
}

/// If-None-Match is a list of tags, or "*"; a tag may be marked weak.
bool names_tag(std::string_view list, std::string_view etag) {
  return list == "*" || list.find(etag) != std::string_view::npos;
}

/// `no-cache`: kept, but asked for each time, so that no page outlives its daemon's version.
HttpResponse served(const Asset& asset, const HttpRequest& request, std::string_view more) {
  HttpResponse out;
  out.cache_control = "no-cache";
  out.headers = fmt::format("ETag: {}\r\n{}{}", asset.etag, kPolicy, more);
  if (names_tag(request.if_none_match, asset.etag)) {
    out.status = 304;
    return out;
  }
  out.content_type = asset.content_type;
  out.body = asset.body;
  return out;
}

}  // namespace

bool wants_page(const HttpRequest& request) {
  const std::string_view accept = request.accept;
  return accept.find("text/html") != std::string_view::npos ||
         accept.find("text/plain") == std::string_view::npos;
}

HttpResponse dashboard_page(const HttpRequest& request) {
  const auto* page = find_asset(kPage);
  if (page == nullptr) throw std::logic_error{"the program holds no dashboard"};
  return served(*page, request, "Vary: Accept\r\n");
}

std::optional<HttpResponse> dashboard_asset(std::string_view name, const HttpRequest& request) {
  const auto* asset = name == kPage ? nullptr : find_asset(name);
  if (asset == nullptr) return std::nullopt;
  return served(*asset, request, {});
}

}  // namespace koordlet::status_api
