#include "k8s/refusal.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "k8s/api_client.hpp"
#include "k8s/fields.hpp"

namespace koordlet::k8s {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool names_large_version(const Fields& status) {
  const auto message = status.text("message").value.value_or("");
  // Servers before 1.19 have no cause for it.
  if (contains(message, "Too large resource version")) return true;
  const auto details = status.object("details");
  const auto* causes = details.value ? details.value->array("causes") : nullptr;
  if (causes == nullptr) return false;
  return std::any_of(causes->begin(), causes->end(), [](const json::value& cause) {
    if (!cause.is_object()) return false;
    const auto* reason = cause.get_object().if_contains("reason");
    return reason != nullptr && reason->is_string() &&
           reason->get_string() == "ResourceVersionTooLarge";
  });
}

}  // namespace

Refusal read_refusal(unsigned status,
                     json::value body,
                     std::optional<std::chrono::seconds> retry_after) {
  Refusal out;
  out.status = status;
  out.retry_after = retry_after;
  ApiAnswer answer;
  if (body.is_object()) {
    Refusals ignored{"status"};
    const Fields fields{body.get_object(), "", ignored};
    const auto code = fields.integer("code", 100, 599).value.value_or(0);
    if (out.status == 0) out.status = static_cast<unsigned>(code);
    const auto reason = fields.text("reason").value.value_or("");
    out.expired = reason == "Expired" || reason == "Gone" || code == 410;
    out.version_too_large = names_large_version(fields);
    const auto details = fields.object("details");
    if (details.value && !out.retry_after) {
      const auto seconds = details.value->integer("retryAfterSeconds", 0, 86'400).value;
      if (seconds) out.retry_after = std::chrono::seconds{*seconds};
    }
  }
  out.expired = out.expired || out.status == 410;
  answer.status = out.status;
  answer.body = std::move(body);
  out.text = answer.problem();
  return out;
}

}  // namespace koordlet::k8s
