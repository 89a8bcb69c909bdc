#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "app/toml_document.hpp"
#include "base/near_name.hpp"

namespace koordlet::app {
namespace {

constexpr int kMaxSyntaxFaults = 20;

std::set<std::string> sections() {
  std::set<std::string> out;
  for (const auto& s : settings()) {
    for (std::string name = s.section(); out.insert(name).second;) {
      const auto dot = name.rfind('.');
      if (dot == std::string::npos) break;
      name.resize(dot);
    }
  }
  return out;
}

/// "; did you mean X?" for the nearest key or section, if one is near.
std::string suggestion(std::string_view key, const std::set<std::string>& names) {
  if (key.size() > 128) return "";
  std::string best;
  std::size_t least = 1 + std::max<std::size_t>(2, key.size() / 5);
  for (const auto& name : names) {
    const auto d = edit_distance(key, name);
    if (d < least) {
      least = d;
      best = name;
    }
  }
  return best.empty() ? "" : fmt::format("; did you mean {}?", best);
}

std::set<std::string> keys() {
  std::set<std::string> out;
  for (const auto& s : settings()) out.insert(s.key);
  return out;
}

class Walk {
 public:
  Walk(const std::string& name, TomlReading& out) : name_{name}, out_{out} {}

  void table(const toml::table& table, const std::string& prefix) {
    for (const auto& [key, node] : table) {
      const std::string path =
          prefix.empty() ? std::string{key.str()} : fmt::format("{}.{}", prefix, key.str());
      const int line = line_of(key.source());
      if (find_setting(path) != nullptr) {
        out_.entries.push_back({path, line, raw_value(node)});
      } else if (sections_.contains(path)) {
        section(path, line, node);
      } else {
        unknown(path, line, node);
      }
    }
  }

 private:
  void section(const std::string& path, int line, const toml::node& node) {
    if (const auto* inner = node.as_table()) {
      table(*inner, path);
    } else {
      refuse(path, line, raw_value(node).shown, fmt::format("expected a section [{}]", path));
    }
  }
  void unknown(const std::string& path, int line, const toml::node& node) {
    const auto* inner = node.as_table();
    if (inner == nullptr) {
      refuse(path, line, raw_value(node).shown, "expected a known key" + suggestion(path, keys()));
    } else {
      refuse(
          path, line, "unknown section", "expected a known section" + suggestion(path, sections_));
    }
  }
  void refuse(const std::string& path, int line, std::string value, std::string expectation) {
    out_.faults.push_back({name_, line, printable(path), std::move(value), std::move(expectation)});
  }

  const std::string& name_;
  TomlReading& out_;
  const std::set<std::string> sections_ = sections();
};

/// Blanks a line that could not be parsed; of a refused section the keys too, for they would count
/// for the section before. False: there is no such line, or nothing is left on it.
bool blank_out(std::string& text, std::size_t line) {
  std::size_t begin = 0;
  for (std::size_t i = 1; i < line; ++i) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return false;
    ++begin;
  }
  const auto first = text.find_first_not_of(" \t", begin);
  if (first == std::string::npos || text[first] == '\n' || text[first] == '\r') return false;
  const bool header = text[first] == '[';
  for (;;) {
    const auto end = std::min(text.find('\n', begin), text.size());
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(begin),
              text.begin() + static_cast<std::ptrdiff_t>(end),
              ' ');
    if (!header || end >= text.size()) return true;
    begin = end + 1;
    const auto next = text.find_first_not_of(" \t", begin);
    if (next == std::string::npos || text[next] == '[') return true;
  }
}

std::string first_line(std::string_view text) { return printable(text.substr(0, text.find('\n'))); }

std::string nth_line(std::string_view text, std::size_t line) {
  for (std::size_t i = 1; i < line; ++i) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return "";
    text.remove_prefix(end + 1);
  }
  return printable(text.substr(0, text.find_first_of("\r\n")));
}

}  // namespace

int line_of(const toml::source_region& region) { return static_cast<int>(region.begin.line); }

RawValue raw_value(const toml::node& node) {
  RawValue out;
  if (const auto* flag = node.as_boolean()) {
    out.value = flag->get();
    out.shown = flag->get() ? "true" : "false";
  } else if (const auto* n = node.as_integer()) {
    out.value = n->get();
    out.shown = std::to_string(n->get());
  } else if (const auto* text = node.as_string()) {
    out.value = text->get();
    out.shown = fmt::format("\"{}\"", printable(text->get()));
  } else {
    out.other = true;
    if (const auto* real = node.as_floating_point()) {
      out.shown = fmt::format("{}", real->get());
    } else {
      out.shown = node.is_table() ? "a table" : node.is_array() ? "an array" : "a date or time";
    }
  }
  return out;
}

void read_settings(const toml::table& table,
                   const std::string& prefix,
                   const std::string& name,
                   TomlReading& out) {
  Walk{name, out}.table(table, prefix);
}

TomlDocument parse_toml(const std::string& text, const std::string& name) {
  TomlDocument out;
  std::string rest = text;
  // The parser stops at its first fault. All faults are wanted at once: the bad line is taken out
  // and the rest is read again.
  for (int i = 0; i < kMaxSyntaxFaults; ++i) {
    try {
      out.root = toml::parse(rest, name);
      break;
    } catch (const toml::parse_error& e) {
      const auto line = e.source().begin.line;
      out.faults.push_back({name,
                            static_cast<int>(line),
                            "syntax",
                            nth_line(rest, line),
                            "expected valid TOML: " + first_line(e.description())});
      if (!blank_out(rest, line)) break;
    }
  }
  return out;
}

TomlReading read_toml(const std::string& text, const std::string& name) {
  TomlReading out;
  auto document = parse_toml(text, name);
  out.faults = std::move(document.faults);
  read_settings(document.root, "", name, out);
  return out;
}

}  // namespace koordlet::app
