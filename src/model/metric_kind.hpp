#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace koordlet {

/// What one step of a stored whole number is.
enum class MetricUnit {
  kMilliCores,      ///< thousandths of a core
  kBytes,           ///< bytes
  kBytesPerSecond,  ///< bytes a second
  kPerSecond,       ///< operations a second
  kPermille,        ///< share of 1000
  kMicroseconds,    ///< microseconds
  kThousandths,     ///< thousandths of a plain number (cycles an instruction)
  kCount,           ///< a plain number (cycles of a window)
  kDegree,          ///< 0 to 100
  kFlag,            ///< 0 or 1
};
std::string_view to_string(MetricUnit unit);  ///< "milli-cores", "bytes/s", ...

/// The base unit of an exposition: value / per, and the words that end the metric's name.
struct BaseUnit {
  std::string_view name;  ///< "cores", "bytes", "ratio", "seconds"; "" for plain numbers
  double per = 1;         ///< divided by, not multiplied: 1100 / 1000 is 1.1
};
BaseUnit base_unit(MetricUnit unit);

/// One metric of the registry: Koordinator's names and labels (pkg/koordlet/metriccache), then our
/// own. The owner text of a stored series is the values of `labels` in this order with '/' between.
struct MetricKind {
  static constexpr std::size_t kMaxLabels = 4;
  std::string_view name;
  MetricUnit unit{};
  std::array<std::string_view, kMaxLabels> label_names{};
  std::size_t label_count = 0;
  std::string_view about;
  std::span<const std::string_view> labels() const { return {label_names.data(), label_count}; }
};

/// All kinds that collectors write, by rising name. Lives for the whole run.
std::span<const MetricKind> metric_kinds();
const MetricKind* find_metric_kind(std::string_view name);  ///< nullptr: not in the registry

/// Values of the labels of `kind` in an owner text; nullopt when it does not have the kind's shape.
/// An id of a container holds slashes of its own ("containerd://9b1d"): its neighbours are cut off
/// first.
std::optional<std::vector<std::string>> label_values(const MetricKind& kind,
                                                     std::string_view owner);

/// The label of a series that the registry does not know (a store of another version): its owner
/// text, whole.
inline constexpr std::string_view kOwnerLabel = "owner";

/// Metric names that `wrong` may have meant, nearest first.
std::vector<std::string> near_metric_names(std::string_view wrong);

}  // namespace koordlet
