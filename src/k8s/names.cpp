#include "k8s/names.hpp"

#include <algorithm>

namespace koordlet::k8s {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_alnum(char c) { return is_digit(c) || is_lower(c) || is_upper(c); }
bool is_dns(char c) { return is_digit(c) || is_lower(c) || c == '-'; }

/// One part of a name: a label without the bound of 63 (a subdomain has only the bound of 253).
bool is_part(std::string_view text) {
  return !text.empty() && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(), is_dns);
}

}  // namespace

bool is_uid(std::string_view text) {
  return !text.empty() && text.size() <= 253 &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_alnum(c) || c == '-'; });
}

bool is_dns_label(std::string_view text) { return text.size() <= 63 && is_part(text); }

bool is_dns_subdomain(std::string_view text) {
  if (text.size() > 253) return false;
  for (;;) {
    const auto dot = text.find('.');
    if (!is_part(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool is_container_id(std::string_view text) {
  return !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), [](char c) {
    return is_alnum(c) || c == '-' || c == '_';
  });
}

bool is_runtime(std::string_view text) {
  return text == "containerd" || text == "docker" || text == "cri-o" || text == "pouch";
}

}  // namespace koordlet::k8s
