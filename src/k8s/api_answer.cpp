#include <boost/beast/http/status.hpp>
#include <fmt/format.h>

#include "base/parse.hpp"
#include "k8s/api_client.hpp"
#include "k8s/paced_json.hpp"

namespace koordlet::k8s {
namespace {

constexpr std::size_t kMaxProblem = 300;

std::string status_text(const boost::json::value& body, std::string_view key) {
  if (!body.is_object()) return {};
  const auto* value = body.get_object().if_contains(key);
  if (value == nullptr || !value->is_string()) return {};
  return std::string{value->get_string()};
}

}  // namespace

std::string ApiAnswer::reason() const { return status_text(body, "reason"); }

std::string ApiAnswer::problem() const {
  const auto phrase =
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(status));
  auto text = fmt::format("{} {}", status, std::string_view{phrase.data(), phrase.size()});
  if (const auto why = reason(); !why.empty()) text += fmt::format(" (reason {})", why);
  const auto message =
      body.is_string() ? std::string{body.get_string()} : status_text(body, "message");
  if (!message.empty()) text += ": " + message;
  return printable(text, kMaxProblem);
}

std::string escape(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const bool unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                            (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
    if (unreserved) {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
  }
  return out;
}

}  // namespace koordlet::k8s
