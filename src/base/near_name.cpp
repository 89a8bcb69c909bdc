#include "base/near_name.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace koordlet {
namespace {

constexpr std::size_t kMaxName = 128;
constexpr std::size_t kMinPart = 3;  ///< shorter parts are in too many names

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

std::vector<std::string> near_names(std::string_view wrong,
                                    const std::vector<std::string_view>& names,
                                    std::size_t most) {
  if (wrong.empty() || wrong.size() > kMaxName) return {};
  const auto limit = std::max<std::size_t>(2, wrong.size() / 3);
  std::vector<std::pair<std::size_t, std::string_view>> found;
  for (const auto name : names) {
    const auto distance = edit_distance(wrong, name);
    const bool part = wrong.size() >= kMinPart && name.find(wrong) != std::string_view::npos;
    // Contained names come behind those that are a typing error away.
    if (distance <= limit || part) found.emplace_back(distance, name);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(most, found.size()); ++i) out.emplace_back(found[i].second);
  return out;
}

std::string suggestion_text(const std::vector<std::string>& names) {
  return names.empty() ? std::string{} : fmt::format("; did you mean {}?", fmt::join(names, ", "));
}

}  // namespace koordlet
