#include <algorithm>

#include <boost/json/stream_parser.hpp>
#include <fmt/format.h>

#include "base/parse.hpp"
#include "k8s/manifest.hpp"
#include "k8s/yaml_reader.hpp"

namespace koordlet::k8s {
namespace {

namespace json = boost::json;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::size_t line_at(std::string_view text, std::size_t offset) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size()));
  return static_cast<std::size_t>(std::count(text.begin(), end, '\n')) + 1;
}

Error at_line(std::string_view text, std::size_t offset, std::string_view problem) {
  return Error{Errc::kParse, fmt::format("line {}: {}", line_at(text, offset), problem)};
}

Result<std::vector<json::value>> read_json(std::string_view text) {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  std::vector<json::value> out;
  std::size_t offset = 0;
  while (!trim(text.substr(offset)).empty()) {
    json::stream_parser parser{{}, options};
    boost::system::error_code ec;
    offset += parser.write_some(text.data() + offset, text.size() - offset, ec);
    if (!ec && !parser.done()) ec = json::error::incomplete;
    if (ec) return at_line(text, offset, fmt::format("not JSON: {}", ec.message()));
    out.push_back(parser.release());
  }
  return out;
}

std::string member_text(const json::object& object, std::string_view key) {
  const auto* v = object.if_contains(key);
  return v != nullptr && v->is_string() ? std::string{v->get_string()} : std::string{};
}

/// Items of an API list carry neither kind nor apiVersion: they are those of the list.
void inherit(json::object& item, const std::string& api_version, const std::string& kind) {
  if (!item.contains("kind")) item["kind"] = kind;
  if (!item.contains("apiVersion")) item["apiVersion"] = api_version;
}

Result<void> expand(json::value document, int level, std::vector<json::value>& out) {
  if (level > 8) return Error{Errc::kRange, "lists nested deeper than 8"};
  if (document.is_array()) {
    for (auto& item : document.get_array()) {
      if (auto done = expand(std::move(item), level + 1, out); !done) return done;
    }
    return {};
  }
  if (!document.is_object()) {
    return Error{Errc::kParse, fmt::format("document {}: expected an object", out.size() + 1)};
  }
  auto& object = document.get_object();
  const auto kind = member_text(object, "kind");
  if (!kind.ends_with("List")) {
    out.push_back(std::move(document));
    return {};
  }
  const auto api_version = member_text(object, "apiVersion");
  const auto item_kind = kind.substr(0, kind.size() - 4);
  auto* items = object.if_contains("items");
  if (items == nullptr || items->is_null()) return {};
  if (!items->is_array())
    return Error{Errc::kParse, fmt::format("{}: items: expected an array", kind)};
  for (auto& item : items->get_array()) {
    if (!item.is_object())
      return Error{Errc::kParse, fmt::format("{}: items: expected objects", kind)};
    if (!item_kind.empty()) inherit(item.get_object(), api_version, item_kind);
    if (auto done = expand(std::move(item), level + 1, out); !done) return done;
  }
  return {};
}

}  // namespace

Result<std::vector<json::value>> parse_documents(std::string_view text, std::size_t max_bytes) {
  if (text.size() > max_bytes) {
    return Error{Errc::kRange,
                 fmt::format("{} bytes: expected at most {}", text.size(), max_bytes)};
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  // YAML forbids them, and yaml-cpp takes one of them (0x04) for the end of the text.
  const auto control = std::find_if(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
  });
  if (control != text.end()) {
    return at_line(text,
                   static_cast<std::size_t>(control - text.begin()),
                   fmt::format("control byte 0x{:02x}", static_cast<unsigned char>(*control)));
  }
  const auto start = trim(text);
  const bool is_json = start.starts_with('{') || start.starts_with('[');
  auto documents = is_json ? read_json(text) : read_yaml(std::string{text});
  if (!documents) return documents.error();
  if (documents->empty()) return Error{Errc::kNotFound, "no document in it"};
  std::vector<json::value> out;
  for (auto& document : *documents) {
    if (auto done = expand(std::move(document), 0, out); !done) return done.error();
  }
  return out;
}

std::string object_type(const json::value& object) {
  if (!object.is_object()) return {};
  const auto version = member_text(object.get_object(), "apiVersion");
  const auto kind = member_text(object.get_object(), "kind");
  if (version.empty() || kind.empty()) return {};
  return fmt::format("{}/{}", version, kind);
}

}  // namespace koordlet::k8s
