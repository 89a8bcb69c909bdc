#include "modules/status_api/routes.hpp"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "modules/status_api/audit_json.hpp"
#include "modules/status_api/dashboard.hpp"
#include "modules/status_api/explain.hpp"
#include "modules/status_api/interference_json.hpp"
#include "modules/status_api/json_text.hpp"
#include "modules/status_api/pod_json.hpp"
#include "modules/status_api/predictions_json.hpp"
#include "modules/status_api/query.hpp"
#include "modules/status_api/recorder_json.hpp"
#include "modules/status_api/status_json.hpp"

namespace koordlet::status_api {

namespace {

using net::HttpRequest;
using net::HttpResponse;

constexpr std::string_view kAssets = "/assets";
constexpr std::string_view kPods = "/api/v1/pods";
constexpr std::string_view kExplain = "/api/v1/explain";
constexpr std::string_view kRestore = "/api/v1/restore";
constexpr std::size_t kShownPath = 200;  ///< bytes of a path that an error repeats

struct Endpoint {
  std::string_view path;
  std::string_view about;
  bool parameters = false;  ///< takes a query (checked by the endpoint itself), or ignores it
  bool on_metrics = false;
};

/// In the order of the index at "/api". `path` with a trailing "/..." stands for one more component
/// or more.
constexpr Endpoint kEndpoints[] = {
    {"/", "the dashboard; this list with Accept: text/plain"},
    {"/api", "this list"},
    {"/assets/...", "files of the dashboard"},
    {"/healthz", "200 while the loop answers", true, true},
    {"/readyz", "200 when ready, else 503 and the reasons", true, true},
    {"/metrics", "Prometheus text", true, true},
    {"/api/v1/status", "one page: level, use, caps, ages of inputs, faults"},
    {"/api/v1/node", "Node object, signals, topology"},
    {"/api/v1/pods", "pods: ?limit= ?continue= ?namespace= ?qos=", true},
    {"/api/v1/pods/...", "one pod by uid"},
    {"/api/v1/qos", "level, thresholds, desired and held values: ?limit= ?continue=", true},
    {"/api/v1/explain/...", "why a pod gets the CPU it gets: by uid or namespace/name"},
    {"/api/v1/interference", "how much each LS pod is hurt, by what and by whom; the sources"},
    {"/api/v1/predictions",
     "peaks to come of node, classes and pods, and how good they were: ?limit= ?continue=",
     true},
    {"/api/v1/series", "stored series: ?match= ?limit= ?continue=, or ?by=metric", true},
    {"/api/v1/query",
     "?query=METRIC{label=\"value\"} ?window= ?func= ?step= ?end= ?limit= ?continue=",
     true},
    {"/api/v1/samples", "stored samples: ?match= ?window= ?end= ?continue=", true},
    {"/api/v1/executor", "held files, foreign writes, counters: ?limit= ?continue=", true},
    {"/api/v1/audit", "what was done and why, newest first: ?pod= ?limit= ?continue=", true},
    {"/api/v1/recorder", "the flight recorder: what it holds and what it lost"},
    {"/api/v1/config", "every key, its value and source"},
    {"/api/v1/capabilities", "what this machine offers"},
    {kRestore, "POST: put every file back (unix socket only)"},
};

/// The part of `path` behind "prefix/"; empty when there is none.
std::string_view behind(std::string_view path, std::string_view prefix) {
  if (path.size() <= prefix.size() + 1 || !path.starts_with(prefix)) return {};
  return path[prefix.size()] == '/' ? path.substr(prefix.size() + 1) : std::string_view{};
}

const Endpoint* find_endpoint(std::string_view path) {
  for (const auto& endpoint : kEndpoints) {
    if (endpoint.path == path) return &endpoint;
    if (endpoint.path.ends_with("/...") &&
        !behind(path, endpoint.path.substr(0, endpoint.path.size() - 4)).empty()) {
      return &endpoint;
    }
  }
  return nullptr;
}

HttpResponse plain(std::string body) {
  HttpResponse out;
  out.content_type = "text/plain; charset=utf-8";
  out.body = std::move(body);
  return out;
}

HttpResponse index_page() {
  std::string out = "koordlet\n\n";
  for (const auto& endpoint : kEndpoints) {
    out += fmt::format("{:<24}{}\n", endpoint.path, endpoint.about);
  }
  return plain(std::move(out));
}

HttpResponse not_found(const HttpRequest& request, Surface surface) {
  return problem(404,
                 fmt::format("no endpoint '{}'{}",
                             std::string_view{request.path}.substr(0, kShownPath),
                             surface == Surface::kMetrics
                                 ? ": this listener serves /metrics, /healthz and /readyz"
                                 : ": GET /api lists them"));
}

}  // namespace

HttpResponse answer(const StatusView& view, const HttpRequest& request) {
  const std::string_view path = request.path;
  if (path == "/") return wants_page(request) ? dashboard_page(request) : index_page();
  if (path == "/api") return index_page();
  if (const auto name = behind(path, kAssets); !name.empty()) {
    auto found = dashboard_asset(name, request);
    return found ? std::move(*found) : not_found(request, Surface::kApi);
  }
  if (path == "/healthz") return plain("ok\n");
  if (path == "/readyz") return ready(view);
  if (path == "/api/v1/status") return status(view);
  if (path == "/api/v1/node") return node(view);
  if (path == kPods) return pods_list(view, request.query);
  if (path == "/api/v1/qos") return qos(view, request.query);
  if (path == "/api/v1/interference") return interference(view);
  if (path == "/api/v1/predictions") return predictions(view, request.query);
  if (path == "/api/v1/executor") return executor(view, request.query);
  if (path == "/api/v1/audit") return audit(view, request.query);
  if (path == "/api/v1/recorder") return recorder(view);
  if (path == "/api/v1/config") return config(view);
  if (path == "/api/v1/capabilities") return capabilities(view);
  if (const auto uid = behind(path, kPods); !uid.empty()) return pod_detail(view, uid);
  if (const auto pod = behind(path, kExplain); !pod.empty()) return explain(view, pod);
  return not_found(request, Surface::kApi);
}

HttpResponse Router::handle(const HttpRequest& request, Surface surface) {
  try {
    return dispatch(request, surface);
  } catch (const std::exception& e) {
    return problem(500, fmt::format("{}: {}", request.path.substr(0, kShownPath), e.what()));
  }
}

boost::asio::awaitable<HttpResponse> Router::respond(HttpRequest request, Surface surface) {
  if (!history_ || surface != Surface::kApi || !MetricRoutes::serves(request.path))
    co_return handle(request, surface);
  auto refused = refusal(request, surface);
  if (refused) co_return std::move(*refused);
  auto answer = co_await history_->respond(std::move(request));
  co_return answer;
}

std::optional<HttpResponse> Router::refusal(const HttpRequest& request, Surface surface) {
  const auto* endpoint = find_endpoint(request.path);
  if (endpoint == nullptr || (surface == Surface::kMetrics && !endpoint->on_metrics)) {
    return not_found(request, surface);
  }
  const bool is_restore = endpoint->path == kRestore;
  const std::string_view method = is_restore ? "POST" : "GET";
  // HEAD is a GET whose body the server keeps back.
  if (request.method != method && (is_restore || request.method != "HEAD")) {
    return problem(
        405,
        fmt::format(
            "{} on '{}': expected {}", utf8(request.method).substr(0, 16), endpoint->path, method));
  }
  if (!endpoint->parameters) {
    const auto none = parse_query(request.query, {});
    if (!none) return problem(400, none.error().context);
  }
  return std::nullopt;
}

HttpResponse Router::dispatch(const HttpRequest& request, Surface surface) {
  if (auto refused = refusal(request, surface)) return std::move(*refused);
  if (request.path == kRestore) return restore(request);
  if (MetricRoutes::serves(request.path)) return problem(503, "no metric history is kept");
  // These answer while a view cannot be made.
  if (request.path == "/healthz") return plain("ok\n");
  if (request.path == "/" || request.path == "/api" || !behind(request.path, kAssets).empty())
    return answer({}, request);
  const StatusView view = view_();
  if (request.path == "/metrics") {
    auto out = plain(metrics_.text(view));
    out.content_type = MetricsExporter::kContentType;
    return out;
  }
  return answer(view, request);
}

HttpResponse Router::restore(const HttpRequest& request) {
  if (!request.unix_socket) {
    return problem(403, "restore is served on the unix socket only: run 'koordlet restore'");
  }
  return restored(restore_());
}

}  // namespace koordlet::status_api
