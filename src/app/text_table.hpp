#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace koordlet::app {

/// Aligned columns for a terminal. The last column is not padded.
class TextTable {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };
  explicit TextTable(std::vector<Column> columns) : columns_{std::move(columns)} {}
  void row(std::vector<std::string> cells);  ///< short rows are filled with "-"
  bool empty() const { return rows_.empty(); }
  std::string text(std::string_view indent = "") const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Values for people; nullopt is "-".
std::string cores_text(std::optional<std::int64_t> milli);        ///< 1500 -> "1.5", 333 -> "0.333"
std::string bytes_text(std::optional<std::int64_t> bytes);        ///< "1.5 GiB"
std::string age_text(std::optional<std::int64_t> ms);             ///< "850 ms", "12 s", "3 h 5 min"
std::string permille_text(std::optional<std::int64_t> permille);  ///< 125 -> "12.5 %"
std::string percent_text(std::optional<double> percent);          ///< 64.9 -> "64.9 %"

/// Text from the daemon or the kernel for a terminal: control characters become '?'.
std::string terminal_text(std::string_view text);

}  // namespace koordlet::app
