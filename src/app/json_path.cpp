#include "app/json_path.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "app/text_table.hpp"

namespace koordlet::app {
namespace json = boost::json;

const json::value* json_at(const json::value& root, std::string_view path) {
  const json::value* at = &root;
  while (!path.empty()) {
    const auto dot = path.find('.');
    const auto* object = at->if_object();
    if (object == nullptr) return nullptr;
    at = object->if_contains(path.substr(0, dot));
    if (at == nullptr) return nullptr;
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return at;
}

std::optional<std::int64_t> json_integer(const json::value& root, std::string_view path) {
  const auto* v = json_at(root, path);
  if (v == nullptr || !v->is_number()) return std::nullopt;
  json::error_code ec;
  const auto n = v->to_number<std::int64_t>(ec);
  if (ec) return std::nullopt;
  return n;
}

std::optional<double> json_number(const json::value& root, std::string_view path) {
  const auto* v = json_at(root, path);
  if (v == nullptr || !v->is_number()) return std::nullopt;
  json::error_code ec;
  const auto n = v->to_number<double>(ec);
  if (ec) return std::nullopt;
  return n;
}

std::optional<bool> json_bool(const json::value& root, std::string_view path) {
  const auto* v = json_at(root, path);
  if (v == nullptr || !v->is_bool()) return std::nullopt;
  return v->get_bool();
}

std::string json_text(const json::value& root, std::string_view path, std::string_view absent) {
  const auto* v = json_at(root, path);
  if (v == nullptr) return std::string{absent};
  if (const auto* text = v->if_string()) {
    const std::string_view view{text->data(), text->size()};
    return view.empty() ? std::string{absent} : terminal_text(view);
  }
  if (v->is_number() || v->is_bool()) return json::serialize(*v);
  return std::string{absent};
}

const json::array& json_array(const json::value& root, std::string_view path) {
  static const json::array none;
  const auto* v = json_at(root, path);
  const auto* array = v == nullptr ? nullptr : v->if_array();
  return array == nullptr ? none : *array;
}

}  // namespace koordlet::app
