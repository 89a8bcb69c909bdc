#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "model/node_report.hpp"
#include "model/node_state.hpp"
#include "store/metric_store.hpp"

namespace koordlet {

/// A series and the window that ends now, as MetricCache::aggregate_many takes them.
using ReportQuestion = std::pair<store::SeriesKey, std::chrono::seconds>;

/// What one report is made of. `answers` belong to `questions` one by one.
struct ReportInput {
  std::shared_ptr<const NodeState> state;  ///< never nullptr; `metric` is the spec in use
  WallTime wall;                           ///< now, by the wall clock
  store::StoredTime now{0};                ///< the same moment in stored time
  std::vector<ReportQuestion> questions;
  std::vector<std::optional<store::WindowAggregate>> answers;
  ResourceUse prod_reclaimable;          ///< empty: no predictor, or not known yet
  std::optional<ResourceUse> prod_peak;  ///< nullopt: the same
  std::string node_uid;                  ///< "" unknown: an object that is made has no owner then
};

/// The windows that a report of `state` needs, in one list for one query.
std::vector<ReportQuestion> report_questions(const NodeState& state);

/// The report, or why there is none: pods or node samples not known, or the newest node sample
/// older than `node_limit`. A report without node data would look like an idle node.
std::variant<NodeReport, std::string> build_report(const ReportInput& input,
                                                   std::chrono::milliseconds node_limit);

}  // namespace koordlet
