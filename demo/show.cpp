#include "show.hpp"

#include <cstdio>

#include <fmt/format.h>

namespace koordlet::demo {
namespace {

std::string cores(const std::optional<double>& v) { return v ? fmt::format("{:.2f}", *v) : "-"; }
std::string number(const std::optional<std::int64_t>& v) { return v ? fmt::format("{}", *v) : "-"; }

const boost::json::value* find(const boost::json::value& value,
                               std::initializer_list<std::string_view> keys) {
  const auto* at = &value;
  for (const auto key : keys) {
    const auto* object = at->if_object();
    if (object == nullptr) return nullptr;
    at = object->if_contains(boost::json::string_view{key.data(), key.size()});
    if (at == nullptr) return nullptr;
  }
  return at;
}

const char* paint(const std::string& level) {
  if (level == "HIGH") return "\x1b[31m";
  if (level == "MID") return "\x1b[33m";
  return "\x1b[32m";
}

}  // namespace

std::optional<double> number_at(const boost::json::value& value,
                                std::initializer_list<std::string_view> keys) {
  const auto* at = find(value, keys);
  if (at == nullptr || !at->is_number()) return std::nullopt;
  return at->to_number<double>();
}

std::optional<std::string> text_at(const boost::json::value& value,
                                   std::initializer_list<std::string_view> keys) {
  const auto* at = find(value, keys);
  if (at == nullptr || !at->is_string()) return std::nullopt;
  return std::string{at->as_string().c_str()};
}

void print_header(bool colour) {
  fmt::print("{}{:>6}  {:<22} {:>6} {:<5} {:>7} {:>7} {:>7} {:>7} {:>8} {:>8}{}\n",
             colour ? "\x1b[1m" : "",
             "time",
             "phase",
             "node%",
             "level",
             "BE cap",
             "BE use",
             "LS use",
             "system",
             "p50 us",
             "p99 us",
             colour ? "\x1b[0m" : "");
  std::fflush(stdout);
}

void print_row(const Row& row, bool colour) {
  const bool painted = colour && !row.level.empty();
  fmt::print("{:>5.0f}s  {:<22} {:>6} {}{:<5}{} {:>7} {:>7} {:>7} {:>7} {:>8} {:>8}  {}\n",
             row.seconds,
             row.phase,
             row.node_percent ? fmt::format("{:.1f}", *row.node_percent) : "-",
             painted ? paint(row.level) : "",
             row.level.empty() ? "-" : row.level,
             painted ? "\x1b[0m" : "",
             cores(row.be_cap),
             cores(row.be_used),
             cores(row.ls_used),
             cores(row.system_used),
             number(row.p50_us),
             number(row.p99_us),
             row.note);
  std::fflush(stdout);
}

}  // namespace koordlet::demo
