#include "app/client.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "app/daemon_answer.hpp"
#include "app/json_path.hpp"
#include "app/render.hpp"

namespace koordlet::app {
namespace {

namespace json = boost::json;
constexpr std::chrono::seconds kTimeout{10};

/// All pages as one body.
struct Pods {
  CommandOutput failure;
  json::object body;
};
Pods all_pods(const std::string& socket, const Ask& ask) {
  Pods out;
  json::array items;
  std::string target = "/api/v1/pods?limit=1000";
  for (int page = 0; page < kMaxAnswerPages; ++page) {
    const auto answer = fetch(socket, ask, target);
    if (!answer.ok()) {
      out.failure = answer.failure;
      return out;
    }
    for (const auto& item : json_array(answer.body, "items")) items.push_back(item);
    const std::string token = json_text(answer.body, "continue", "");
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
