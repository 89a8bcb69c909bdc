#pragma once

#include <string_view>

/// Alphabets of names that come from outside. What does not match never becomes part of a path.
namespace koordlet::k8s {

bool is_uid(std::string_view text);            ///< [A-Za-z0-9-]{1,253}
bool is_dns_label(std::string_view text);      ///< [a-z0-9]([a-z0-9-]*[a-z0-9])?, 1..63
bool is_dns_subdomain(std::string_view text);  ///< labels joined by dots, 1..253
bool is_container_id(std::string_view text);   ///< [A-Za-z0-9_-]{1,128}
bool is_runtime(std::string_view text);        ///< containerd, docker, cri-o, pouch

}  // namespace koordlet::k8s
