#include "app/query_command.hpp"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "app/daemon_answer.hpp"
#include "app/json_path.hpp"
#include "app/query_options.hpp"
#include "app/render.hpp"
#include "base/parse.hpp"

namespace koordlet::app {
namespace {

namespace json = boost::json;

constexpr std::string_view kTableFunctions = "last,mean,p95,max,trend";
constexpr std::int64_t kSparkBlocks = 32;
constexpr std::int64_t kSecondMs = 1000;

std::string query_target(const QueryOptions& options, const std::string& selector) {
  const auto functions =
      options.functions.empty() ? std::string{kTableFunctions} : options.functions;
  std::string out = fmt::format("/api/v1/query?query={}&window={}&func={}",
                                percent_encoded(selector),
                                percent_encoded(options.window),
                                percent_encoded(functions));
  auto step = options.step;
  if (step.empty()) {
    const auto window = parse_span_ms(options.window);
    const auto width = window ? std::max(kSecondMs, *window / kSparkBlocks) : kSecondMs;
    step = fmt::format("{}ms", width / kSecondMs * kSecondMs);
  }
  return out + "&step=" + percent_encoded(step);
}

CommandOutput list_metrics(bool as_json, const std::string& socket, const Ask& ask) {
  auto answer = fetch(socket, ask, "/api/v1/series?by=metric");
  if (!answer.ok()) return answer.failure;
  CommandOutput out;
  out.out = as_json ? json::serialize(answer.body) + "\n" : render_metrics(answer.body);
  return out;
}

}  // namespace

CommandOutput run_query(const CommandLine& command, const std::string& socket, const Ask& ask) {
  if (socket.empty()) return failed("status.socket is empty: there is no way to ask the daemon");
  const auto selector = selector_of(command.query);
  if (!selector) return failed(selector.error().context);
  if (selector->empty()) return list_metrics(command.json, socket, ask);
  const auto target = query_target(command.query, *selector);
  json::object all;
  json::array items;
  std::string page_target = target;
  for (int page = 0; page < kMaxAnswerPages; ++page) {
    auto answer = fetch(socket, ask, page_target);
    if (!answer.ok()) return answer.failure;
    for (const auto& item : json_array(answer.body, "items")) items.push_back(item);
    const auto token = json_text(answer.body, "continue", "");
    if (all.empty() && answer.body.is_object()) all = answer.body.get_object();
    if (token.empty()) break;
    // All pages end where the first one did.
    page_target = fmt::format("{}&end={}&continue={}",
                              target,
                              json_integer(all, "to_ms").value_or(0),
                              percent_encoded(token));
  }
  all["remaining"] = 0;
  all["continue"] = nullptr;
  all["items"] = std::move(items);
  CommandOutput out;
  const json::value body = std::move(all);
  out.out = command.json ? json::serialize(body) + "\n" : render_query(body);
  return out;
}

}  // namespace koordlet::app
