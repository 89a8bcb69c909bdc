#include "k8s/list_page.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "k8s/applied_versions.hpp"
#include "k8s/fields.hpp"

namespace koordlet::k8s {
namespace {

std::string text_at(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string{value->get_string()} : std::string{};
}

}  // namespace

Result<ListPage> take_page(json::value body) {
  if (!body.is_object()) {
    return Error{Errc::kParse, fmt::format("{}: expected a list", shown(body))};
  }
  auto& object = body.get_object();
  ListPage page;
  const auto kind = text_at(object, "kind");
  if (!kind.empty() && !kind.ends_with("List")) {
    return Error{Errc::kParse, fmt::format("kind {}: expected a list", kind.substr(0, 60))};
  }
  auto* items = object.if_contains("items");
  if (items == nullptr && kind.empty()) return Error{Errc::kParse, "no items: expected a list"};
  if (items != nullptr && !items->is_null()) {
    if (!items->is_array()) {
      return Error{Errc::kParse, fmt::format("items: {}: expected an array", shown(*items))};
    }
    page.items = std::move(items->get_array());
  }
  const auto& list = page.items;
  const auto odd = std::find_if(
      list.begin(), list.end(), [](const json::value& item) { return !item.is_object(); });
  if (odd != list.end()) {
    return Error{Errc::kParse, fmt::format("items: {}: expected objects", shown(*odd))};
  }
  page.resource_version = metadata_text(body, "resourceVersion");
  page.continue_token = metadata_text(body, "continue");
  page.api_version = text_at(object, "apiVersion");
  if (kind.size() > 4) page.kind = kind.substr(0, kind.size() - 4);
  return page;
}

void give_type(json::value& item, const ListPage& page) {
  auto& object = item.get_object();
  if (!page.kind.empty() && !object.contains("kind")) object["kind"] = page.kind;
  if (!page.api_version.empty() && !object.contains("apiVersion")) {
    object["apiVersion"] = page.api_version;
  }
}

}  // namespace koordlet::k8s
