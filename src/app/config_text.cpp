#include <fmt/format.h>

#include "app/setting.hpp"

namespace koordlet::app {
namespace {

std::string default_literal(const Setting& s) { return toml_literal(s, s.get(Config{})); }

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string default_toml() {
  std::string out =
      "# koordlet: every key with what it does, its range and its default. A key that is left out\n"
      "# has the default; an unknown key or section is refused. Check a file with\n"
      "# `koordlet check-config FILE`. Precedence: NodeSLO field > command line > this file.\n";
  std::string section;
  for (const auto& s : settings()) {
    if (s.section() != section) {
      section = s.section();
      out += fmt::format("\n[{}]\n", section);
    }
    out += fmt::format("# {}\n", s.about);
    out += fmt::format("# range: {}; default: {}", range_text(s), default_literal(s));
    if (!s.flag.empty()) out += fmt::format("; flag: --{}", s.flag);
    out += fmt::format("\n{} = {}\n", s.name(), default_literal(s));
  }
  return out;
}

std::string settings_markdown() {
  std::string out;
  std::string section;
  for (const auto& s : settings()) {
    if (s.section() != section) {
      section = s.section();
      out += fmt::format(
          "{}### [{}]\n\n| key | default | range | what it does |\n| --- | --- | --- | --- |\n",
          out.empty() ? "" : "\n",
          section);
    }
    out += fmt::format("| `{}` | `{}` | {} | {}{} |\n",
                       s.name(),
                       cell(default_literal(s)),
                       cell(range_text(s)),
                       cell(s.about),
                       s.flag.empty() ? "" : fmt::format(" (`--{}`)", s.flag));
  }
  return out;
}

}  // namespace koordlet::app
