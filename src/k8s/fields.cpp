#include "k8s/fields.hpp"

#include <algorithm>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

namespace koordlet::k8s {
namespace {

/// Cuts at a character border: messages go out as UTF-8.
std::string cut(std::string text, std::size_t max) {
  if (text.size() <= max) return text;
  while (max > 0 && (static_cast<unsigned char>(text[max]) & 0xC0) == 0x80) --max;
  text.resize(max);
  return text + "...";
}

bool equal_in_any_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::string shown(const json::value& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_double()) return fmt::format("{}", value.get_double());
  return cut(json::serialize(value), 60);
}

void Refusals::add(std::string_view field, const json::value& got, std::string_view expected) {
  add(field, fmt::format("{}: expected {}", shown(got), expected));
}

void Refusals::add(std::string_view field, std::string_view problem) {
  if (lines_.size() >= kMax) {
    ++dropped_;
    return;
  }
  auto line = fmt::format("{}: {}: {}", subject_, cut(std::string{field}, 200), problem);
  // Several decoders may look at one field.
  if (std::find(lines_.begin(), lines_.end(), line) == lines_.end()) {
    lines_.push_back(std::move(line));
  }
}

std::vector<std::string> Refusals::take() {
  if (dropped_ != 0) lines_.push_back(fmt::format("{}: {} more faults", subject_, dropped_));
  dropped_ = 0;
  return std::move(lines_);
}

const json::value* Fields::find(std::string_view key) const {
  const json::value* found = object_->if_contains(key);
  if (found == nullptr && case_ == KeyCase::kAny) {
    for (const auto& member : *object_) {
      if (equal_in_any_case(member.key(), key)) found = &member.value();
    }
  }
  return found != nullptr && found->is_null() ? nullptr : found;
}

std::string Fields::path(std::string_view key) const {
  if (path_.empty()) return std::string{key};
  return fmt::format("{}.{}", path_, key);
}

Read<bool> Fields::boolean(std::string_view key) const {
  const auto* v = find(key);
  if (v == nullptr) return {};
  if (v->is_bool()) return {v->get_bool(), false};
  refuse(key, *v, "true or false");
  return {std::nullopt, true};
}

Read<std::int64_t> Fields::integer(std::string_view key,
                                   std::int64_t low,
                                   std::int64_t high) const {
  const auto* v = find(key);
  if (v == nullptr) return {};
  if (v->is_int64() && v->get_int64() >= low && v->get_int64() <= high) {
    return {v->get_int64(), false};
  }
  refuse(key, *v, fmt::format("{}..{}", low, high));
  return {std::nullopt, true};
}

std::optional<int> Fields::int_or_last(std::string_view key,
                                       std::int64_t low,
                                       std::int64_t high,
                                       const std::optional<int>& last) const {
  const auto read = integer(key, low, high);
  if (read.refused) return last;
  return read.value ? std::optional{static_cast<int>(*read.value)} : std::nullopt;
}

Read<std::string> Fields::text(std::string_view key) const {
  const auto* v = find(key);
  if (v == nullptr) return {};
  if (v->is_string()) return {std::string{v->get_string()}, false};
  refuse(key, *v, "text");
  return {std::nullopt, true};
}

Read<Fields> Fields::object(std::string_view key) const {
  const auto* v = find(key);
  if (v == nullptr) return {};
  if (v->is_object()) return {Fields{v->get_object(), path(key), *refusals_, case_}, false};
  refuse(key, *v, "an object");
  return {std::nullopt, true};
}

const json::array* Fields::array(std::string_view key) const {
  const auto* v = find(key);
  if (v == nullptr) return nullptr;
  if (v->is_array()) return &v->get_array();
  refuse(key, *v, "an array");
  return nullptr;
}

std::optional<std::string> quantity_text(const json::value& value) {
  if (value.is_string()) return std::string{value.get_string()};
  if (value.is_int64()) return fmt::format("{}", value.get_int64());
  if (value.is_uint64()) return fmt::format("{}", value.get_uint64());
  // The shortest text that reads back as the same double is the text that was written.
  if (value.is_double()) return fmt::format("{}", value.get_double());
  return std::nullopt;
}

std::optional<json::object> parse_annotation(std::string_view key,
                                             std::string_view text,
                                             Refusals& refusals) {
  const auto field = fmt::format("metadata.annotations[{}]", key);
  boost::system::error_code ec;
  auto value = json::parse(text, ec);  // bounded by the library's default depth of 32
  if (!ec && value.is_object()) return std::move(value.get_object());
  refusals.add(field, json::value(text), "a JSON object");
  return std::nullopt;
}

}  // namespace koordlet::k8s
