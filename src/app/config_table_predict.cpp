#include "app/config_table.hpp"

namespace koordlet::app {

void add_predict(std::vector<Setting>& out) {
  out.push_back(boolean("predict.enabled",
                        KOORDLET_AT(predict.enabled),
                        "learn from what the node, its classes and pods use, and forecast peaks"));
  out.push_back(with_flag("predict-window",
                          duration("predict.window",
                                   KOORDLET_AT(predict.window),
                                   5 * kMinute,
                                   24 * kHour,
                                   "peaks of so much time from now on are forecast; a multiple of "
                                   "5m")));
  out.push_back(number("predict.margin_percent",
                       KOORDLET_AT(predict.margin_percent),
                       0,
                       100,
                       "on top of the peaks that prodReclaimable in NodeMetric goes by"));
  out.push_back(duration("predict.cold_start",
                         KOORDLET_AT(predict.cold_start),
                         kHour,
                         168 * kHour,
                         "a pod with less data counts with its request in prodReclaimable"));
  out.push_back(duration("predict.checkpoint_interval",
                         KOORDLET_AT(predict.checkpoint_interval),
                         kMinute,
                         24 * kHour,
                         "between two writes of what one model has learned"));
  out.push_back(duration("predict.expiry",
                         KOORDLET_AT(predict.expiry),
                         kMinute,
                         24 * kHour,
                         "what was learned of a pod is kept so long after it is gone"));
  out.push_back(boolean("predict.early_warning",
                        KOORDLET_AT(warning.enabled),
                        "a node peak that is forecast above the threshold sets the Node condition "
                        "KoordletPeakForecast and makes an Event"));
  out.push_back(number("predict.early_warning_percent",
                       KOORDLET_AT(warning.percent),
                       0,
                       100,
                       "that threshold, of the node's CPUs and memory; 0: where HIGH begins"));
  out.push_back(duration("predict.early_warning_after",
                         KOORDLET_AT(warning.after),
                         0,
                         kHour,
                         "forecast so long before it is set, and no longer forecast before it is "
                         "cleared"));
}

}  // namespace koordlet::app
