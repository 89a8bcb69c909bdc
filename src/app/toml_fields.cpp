#include "app/toml_fields.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/near_name.hpp"
#include "base/parse.hpp"

namespace koordlet::app {
namespace {

std::string span_text(std::chrono::milliseconds t) { return format_duration_ms(t.count()); }

}  // namespace

TomlFields::TomlFields(const toml::table& table,
                       std::string path,
                       const std::string& file,
                       std::vector<ConfigFault>& faults)
    : table_{table}, path_{std::move(path)}, file_{file}, faults_{faults} {}

std::string TomlFields::path_of(std::string_view key) const {
  return path_.empty() ? std::string{key} : fmt::format("{}.{}", path_, key);
}

const toml::node* TomlFields::node(std::string_view key) {
  asked_.emplace(key);
  return table_.get(key);
}

void TomlFields::refuse(std::string_view key, std::string_view expectation) {
  const auto* n = table_.get(key);
  const int own = path_.empty() ? 0 : line_of(table_.source());  // the file as a whole has no line
  faults_.push_back({file_,
                     n != nullptr ? line_of(n->source()) : own,
                     koordlet::app::printable(path_of(key)),
                     n != nullptr ? raw_value(*n).shown : "absent",
                     fmt::format("expected {}", expectation)});
}

void TomlFields::require(std::string_view key) {
  if (!has(key)) refuse(key, "a value");
}

bool TomlFields::number(std::string_view key, double& out, double min, double max) {
  const auto* n = node(key);
  if (n == nullptr) return false;
  const auto v = n->is_boolean() ? std::nullopt : n->value<double>();
  if (!v || !std::isfinite(*v) || *v < min || *v > max) {
    refuse(key, fmt::format("a number from {:.10g} to {:.10g}", min, max));
    return false;
  }
  out = *v;
  return true;
}

bool TomlFields::whole(std::string_view key,
                       std::int64_t& out,
                       std::int64_t min,
                       std::int64_t max) {
  const auto* n = node(key);
  if (n == nullptr) return false;
  const auto* v = n->as_integer();
  if (v == nullptr || v->get() < min || v->get() > max) {
    refuse(key, fmt::format("a whole number from {} to {}", min, max));
    return false;
  }
  out = v->get();
  return true;
}

bool TomlFields::text(std::string_view key, std::string& out, std::size_t most) {
  const auto* n = node(key);
  if (n == nullptr) return false;
  const auto* v = n->as_string();
  if (v == nullptr || v->get().size() > most) {
    refuse(key, fmt::format("text of at most {} bytes", most));
    return false;
  }
  out = v->get();
  return true;
}

bool TomlFields::flag(std::string_view key, bool& out) {
  const auto* n = node(key);
  if (n == nullptr) return false;
  const auto* v = n->as_boolean();
  if (v == nullptr) {
    refuse(key, "true or false");
    return false;
  }
  out = v->get();
  return true;
}

bool TomlFields::duration(std::string_view key,
                          std::chrono::milliseconds& out,
                          std::chrono::milliseconds min,
                          std::chrono::milliseconds max) {
  const auto* n = node(key);
  if (n == nullptr) return false;
  const auto* v = n->as_string();
  const auto ms = parse_span_ms(v != nullptr ? v->get() : std::string{});
  if (!ms || *ms < min.count() || *ms > max.count()) {
    refuse(key, fmt::format("a duration from {} to {}", span_text(min), span_text(max)));
    return false;
  }
  out = std::chrono::milliseconds{*ms};
  return true;
}

bool TomlFields::size(std::string_view key, std::int64_t& out, std::int64_t min, std::int64_t max) {
  const auto* n = node(key);
  if (n == nullptr) return false;
  const auto* v = n->as_string();
  const auto bytes = parse_size(v != nullptr ? v->get() : std::string{});
  if (!bytes || *bytes < min || *bytes > max) {
    refuse(key, fmt::format("a size from {} to {}", format_size(min), format_size(max)));
    return false;
  }
  out = *bytes;
  return true;
}

bool TomlFields::choice(std::string_view key, int& out, const std::vector<std::string>& words) {
  const auto* n = node(key);
  if (n == nullptr) return false;
  const auto* v = n->as_string();
  const auto found = v != nullptr ? std::find(words.begin(), words.end(), v->get()) : words.end();
  if (found == words.end()) {
    std::string list;
    for (std::size_t i = 0; i < words.size(); ++i) {
      list += fmt::format("{}\"{}\"",
                          i == 0                  ? ""
                          : i + 1 == words.size() ? " or "
                                                  : ", ",
                          words[i]);
    }
    refuse(key, list);
    return false;
  }
  out = static_cast<int>(found - words.begin());
  return true;
}

const toml::table* TomlFields::table(std::string_view key) {
  const auto* n = node(key);
  if (n == nullptr) return nullptr;
  if (const auto* t = n->as_table()) return t;
  refuse(key, fmt::format("a section [{}]", path_of(key)));
  return nullptr;
}

std::vector<const toml::table*> TomlFields::tables(std::string_view key) {
  std::vector<const toml::table*> out;
  const auto* n = node(key);
  if (n == nullptr) return out;
  const auto* list = n->as_array();
  bool good = list != nullptr;
  for (std::size_t i = 0; good && i < list->size(); ++i) {
    out.push_back(list->get(i)->as_table());
    good = out.back() != nullptr;
  }
  if (good) return out;
  refuse(key, fmt::format("sections [[{}]]", path_of(key)));
  return {};
}

void TomlFields::refuse_unknown() {
  const std::vector<std::string_view> names{asked_.begin(), asked_.end()};
  for (const auto& [key, value] : table_) {
    if (asked_.contains(key.str())) continue;
    faults_.push_back({file_,
                       line_of(key.source()),
                       koordlet::app::printable(path_of(key.str())),
                       raw_value(value).shown,
                       "expected a known key" + suggestion_text(near_names(key.str(), names))});
  }
}

}  // namespace koordlet::app
