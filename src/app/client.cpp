#include "app/client.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "app/json_path.hpp"
#include "app/render.hpp"
#include "app/text_table.hpp"

namespace koordlet::app {
namespace {

namespace json = boost::json;
constexpr std::chrono::seconds kTimeout{10};
constexpr int kMaxPages = 1000;  // a daemon that never ends its list must not hold the command

CommandOutput failed(std::string line) {
  CommandOutput out;
  out.exit_code = kExitFailed;
  out.err = fmt::format("koordlet: {}\n", line);
  return out;
}

Result<json::value> body_of(const net::HttpResponse& response) {
  json::error_code ec;
  auto body = json::parse(response.body, ec);
  if (ec) return Error{Errc::kParse, "the daemon's answer is not JSON: " + ec.message()};
  return body;
}

CommandOutput no_answer(const std::string& socket, const Error& error) {
  CommandOutput out;
  out.exit_code = kExitFailed;
  out.err = fmt::format("koordlet is not running: no answer on {}", socket);
  if (error.code != Errc::kNotFound) out.err += fmt::format(" ({})", error.context);
  out.err += '\n';
  return out;
}

/// All pages as one body.
struct Pods {
  CommandOutput failure;
  json::object body;
};
Pods all_pods(const std::string& socket, const Ask& ask) {
  Pods out;
  json::array items;
  std::string target = "/api/v1/pods?limit=1000";
  for (int page = 0; page < kMaxPages; ++page) {
    const auto response = ask("GET", target);
    if (!response) {
      out.failure = no_answer(socket, response.error());
      return out;
    }
    if (response->status != 200) {
      out.failure = failed(problem_text(*response));
      return out;
    }
    const auto body = body_of(*response);
    if (!body) {
      out.failure = failed(body.error().context);
      return out;
    }
    for (const auto& item : json_array(*body, "items")) items.push_back(item);
    const std::string token = json_text(*body, "continue", "");
    if (token.empty()) break;
    target = "/api/v1/pods?limit=1000&continue=" + token;
  }
  out.body["total"] = items.size();
  out.body["items"] = std::move(items);
  return out;
}

CommandOutput run_pods(const CommandLine& command, const std::string& socket, const Ask& ask) {
  Pods pods = all_pods(socket, ask);
  if (pods.failure.exit_code != kExitOk) return pods.failure;
  CommandOutput out;
  const json::value body = std::move(pods.body);
  out.out = command.json ? json::serialize(body) + "\n" : render_pods(body);
  return out;
}

}  // namespace

Ask ask_socket(const std::string& socket) {
  return [socket](const std::string& method, const std::string& target) {
    return net::unix_request(socket, method, target, kTimeout);
  };
}

std::string problem_text(const net::HttpResponse& response) {
  json::error_code ec;
  const auto body = json::parse(response.body, ec);
  const std::string detail = ec ? "" : json_text(body, "detail", "");
  return detail.empty() ? fmt::format("the daemon answered {}", response.status) : detail;
}

CommandOutput run_client(const CommandLine& command, const std::string& socket, const Ask& ask) {
  if (socket.empty()) return failed("status.socket is empty: there is no way to ask the daemon");
  if (command.verb == Verb::kPods) return run_pods(command, socket, ask);
  const bool explain = command.verb == Verb::kExplain;
  const auto response = ask("GET", explain ? "/api/v1/explain/" + command.pod : "/api/v1/status");
  if (!response) return no_answer(socket, response.error());
  if (response->status != 200) return failed(problem_text(*response));
  CommandOutput out;
  if (command.json) {
    out.out = response->body;
    if (!out.out.ends_with('\n')) out.out += '\n';
    return out;
  }
  const auto body = body_of(*response);
  if (!body) return failed(body.error().context);
  out.out = explain ? render_explain(*body) : render_status(*body);
  return out;
}

}  // namespace koordlet::app
