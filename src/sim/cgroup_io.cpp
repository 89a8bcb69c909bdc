#include "sim/cgroup_io.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "base/parse.hpp"

namespace koordlet::sim {
namespace {

constexpr std::int64_t kMostOps = std::numeric_limits<std::uint32_t>::max();
constexpr std::string_view kInvalidText = "Invalid argument";
constexpr std::string_view kRangeText = "Numerical result out of range";

Error refusal(std::string_view text) { return {Errc::kInvalid, std::string{text}}; }

Result<IoMax::Rate> accept_rate(CgroupVersion version, const IoMax::Rate& rate, bool ops) {
  if (!rate.bound()) return rate;
  const std::int64_t n = *rate.bound();
  if (n < 0) return refusal(kInvalidText);
  if (version == CgroupVersion::kV1) {
    const std::int64_t kept = ops ? n & kMostOps : n;
    return kept == 0 || (ops && kept == kMostOps) ? IoMax::Rate::unlimited() : IoMax::Rate{kept};
  }
  if (n == 0) return refusal(kRangeText);
  if (n == 1) return refusal(kInvalidText);
  return ops && n >= kMostOps ? IoMax::Rate::unlimited() : IoMax::Rate{n};
}

Result<CgroupValue> accept_max(CgroupVersion version, const IoMax& want) {
  IoMax out;
  for (const auto& [member, ops] : {std::pair{&IoMax::read_bytes, false},
                                    std::pair{&IoMax::write_bytes, false},
                                    std::pair{&IoMax::read_ops, true},
                                    std::pair{&IoMax::write_ops, true}}) {
    const auto rate = accept_rate(version, want.*member, ops);
    if (!rate) return rate.error();
    out.*member = *rate;
  }
  return CgroupValue{out};
}

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// "95" or "95.00", at most `most`.
bool is_percent(std::string_view text, int most) {
  const auto dot = text.find('.');
  const auto whole = text.substr(0, dot);
  if (dot != std::string_view::npos && !is_number(text.substr(dot + 1))) return false;
  const auto n = is_number(whole) ? parse_i64(whole) : Result<std::int64_t>{Error{}};
  return n && *n <= most;
}

bool good_word(CgroupFile file, std::string_view key, std::string_view value) {
  if (key == "ctrl") return value == "auto" || value == "user";
  const auto is_one_of = [&](const auto& keys) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  if (file == CgroupFile::kIoCostModel) {
    constexpr std::array<std::string_view, 6> kCosts{
        "rbps", "rseqiops", "rrandiops", "wbps", "wseqiops", "wrandiops"};
    return key == "model" ? value == "linear" : is_one_of(kCosts) && is_number(value);
  }
  if (key == "enable") return value == "0" || value == "1";
  if (key == "rlat" || key == "wlat") return is_number(value);
  if (key == "rpct" || key == "wpct") return is_percent(value, 100);
  // VRATE_MIN_PPM and VRATE_MAX_PPM: 1 % to 10000 %.
  return (key == "min" || key == "max") && is_percent(value, 10'000);
}

Result<CgroupValue> accept_cost(CgroupFile file, const Line& line) {
  std::string_view rest = line.v;
  if (rest.empty()) return refusal(kInvalidText);
  while (!rest.empty()) {
    const auto end = rest.find(' ');
    const auto word = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    const auto equals = word.find('=');
    if (equals == std::string_view::npos ||
        !good_word(file, word.substr(0, equals), word.substr(equals + 1))) {
      return refusal(kInvalidText);
    }
  }
  return CgroupValue{line};
}

}  // namespace

bool is_io_file(CgroupFile file) { return traits_of(file).item == ItemKind::kDevice; }

bool has_io_file(CgroupVersion version, CgroupFile file, bool is_root) {
  switch (file) {
    case CgroupFile::kIoMax:
      return version == CgroupVersion::kV1 || !is_root;
    case CgroupFile::kIoWeight:
      return version == CgroupVersion::kV2 && !is_root;
    case CgroupFile::kIoCostQos:
    case CgroupFile::kIoCostModel:
      return version == CgroupVersion::kV2 && is_root;
    default:
      return false;
  }
}

CgroupValue io_default(CgroupFile file) {
  switch (file) {
    case CgroupFile::kIoWeight:
      return Number{100};
    case CgroupFile::kIoCostQos:
      return Line{"enable=0"};
    case CgroupFile::kIoCostModel:
      return Line{"ctrl=auto"};
    default:
      return IoMax{};
  }
}

Result<CgroupValue> accept_io(CgroupVersion version, CgroupFile file, const CgroupValue& value) {
  if (!holds_type_of(file, value)) return refusal(kInvalidText);
  if (file == CgroupFile::kIoMax) return accept_max(version, std::get<IoMax>(value));
  if (file != CgroupFile::kIoWeight) return accept_cost(file, std::get<Line>(value));
  const auto n = std::get<Number>(value).v;
  if (n < 1 || n > 10'000) return refusal(kInvalidText);
  return value;
}

}  // namespace koordlet::sim
