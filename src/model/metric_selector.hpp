#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace koordlet {

/// Labels of a series, in the order of the registry.
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

/// Labels of a stored series. A kind that the registry does not know, and an owner that does not
/// have its kind's shape, are shown as {owner="..."}; no label when the owner is empty.
MetricLabels labels_of(std::string_view kind, std::string_view owner);

/// name{label="value", other!="value"}: which series are meant. An empty metric means any.
struct MetricSelector {
  struct Match {
    std::string label, value;
    bool equal = true;
    friend bool operator==(const Match&, const Match&) = default;
  };
  std::string metric;
  std::vector<Match> matches;
  friend bool operator==(const MetricSelector&, const MetricSelector&) = default;

  /// As in PromQL, a label that a series does not have is the empty text.
  bool selects(std::string_view kind, std::string_view owner) const;
  std::string text() const;  ///< parses back to the same
};

/// kParse with the place of the fault. Values stand in double quotes, with \\, \" and \n. At most
/// 4096 bytes and 16 matches.
Result<MetricSelector> parse_selector(std::string_view text);

/// kNotFound when the registry has no such metric or label; the text lists near names. A selector
/// without a metric is checked against the labels of all metrics.
Result<void> check_names(const MetricSelector& selector);

/// `text` as a label's value in double quotes.
std::string quoted_label(std::string_view text);

}  // namespace koordlet
