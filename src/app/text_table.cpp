#include "app/text_table.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace koordlet::app {
namespace {

constexpr std::size_t kGap = 2;

/// Columns of a terminal: bytes that do not continue a UTF-8 sequence.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

/// "1.500" -> "1.5", "2.000" -> "2".
std::string without_zeros(std::string text) {
  const auto dot = text.find('.');
  if (dot == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

void TextTable::row(std::vector<std::string> cells) {
  cells.resize(columns_.size(), "-");
  for (auto& cell : cells) cell = terminal_text(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (const auto& c : columns_) widths.push_back(width(c.title));
  for (const auto& cells : rows_) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], width(cells[i]));
  }
  std::string out;
  const auto line = [&](const auto& cell_of) {
    std::string text{indent};
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_of(i);
      const std::string pad(widths[i] - width(cell), ' ');
      text += columns_[i].align == Align::kRight ? pad + cell : cell + pad;
      text.append(kGap, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  };
  line([&](std::size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& cells : rows_) {
    line([&](std::size_t i) -> const std::string& { return cells[i]; });
  }
  return out;
}

std::string cores_text(std::optional<std::int64_t> milli) {
  if (!milli) return "-";
  const std::int64_t n = *milli;
  const auto magnitude = n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  return without_zeros(
      fmt::format("{}{}.{:03}", n < 0 ? "-" : "", magnitude / 1000, magnitude % 1000));
}

std::string bytes_text(std::optional<std::int64_t> bytes) {
  if (!bytes) return "-";
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(*bytes);
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && (value >= 1024 || value <= -1024)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", *bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string age_text(std::optional<std::int64_t> ms) {
  if (!ms) return "-";
  if (*ms < 1000) return fmt::format("{} ms", *ms);
  const auto seconds = *ms / 1000;
  if (seconds < 60) return fmt::format("{} s", seconds);
  const auto minutes = seconds / 60;
  if (minutes < 60) return fmt::format("{} min {} s", minutes, seconds % 60);
  const auto hours = minutes / 60;
  if (hours < 48) return fmt::format("{} h {} min", hours, minutes % 60);
  return fmt::format("{} d {} h", hours / 24, hours % 24);
}

std::string permille_text(std::optional<std::int64_t> permille) {
  if (!permille) return "-";
  return fmt::format("{:.1f} %", static_cast<double>(*permille) / 10.0);
}

std::string percent_text(std::optional<double> percent) {
  return percent ? fmt::format("{:.1f} %", *percent) : "-";
}

std::string terminal_text(std::string_view text) {
  std::string out{text};
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return out;
}

}  // namespace koordlet::app
