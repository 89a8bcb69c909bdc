#include "modules/status_api/hooks_json.hpp"

namespace koordlet::status_api {

json::value hooks_summary(const StatusView& view) {
  if (!view.hooks) return nullptr;
  const auto& h = *view.hooks;
  json::array each;
  for (const auto& hook : h.hooks) {
    each.emplace_back(json::object{{"name", hook.name},
                                   {"on", hook.on},
                                   {"calls", hook.calls},
                                   {"changed", hook.changed},
                                   {"failed", hook.failed},
                                   {"longest_us", hook.longest.count()},
                                   {"last_failure", text_or_null(hook.last_failure)}});
  }
  return json::object{{"state", h.state},
                      {"why", text_or_null(h.why)},
                      {"socket", h.socket},
                      {"runtime", text_or_null(h.runtime)},
                      {"runtime_version", text_or_null(h.runtime_version)},
                      {"connections", h.connections},
                      {"events", h.events},
                      {"failures", h.failures},
                      {"late", h.late},
                      {"last_failure", text_or_null(h.last_failure)},
                      {"created", h.created},
                      {"updated", h.updated},
                      {"unknown_pods", h.unknown_pods},
                      {"hands_off", h.hands_off},
                      {"repaired", h.repaired},
                      {"followed", h.followed},
                      {"capped_starts", h.capped_starts},
                      {"containers", h.containers},
                      {"longest_answer_us", h.longest_answer.count()},
                      {"hooks", std::move(each)}};
}

}  // namespace koordlet::status_api
