#pragma once

#include <string>
#include <vector>

#include "app/config.hpp"
#include "modules/status_api/status_view.hpp"

namespace koordlet::app {

enum class Answer { kYes, kNo, kNotApplicable };

/// One thing that koordlet needs or can use.
struct Check {
  std::string name;
  Answer answer = Answer::kNo;
  std::string detail;     ///< value, or why not
  std::string advice;     ///< next step; never empty with kNo
  bool required = false;  ///< koordlet cannot do its work without it
};

/// Looks at the host: makes and removes one cgroup and one file. Some milliseconds; not on a tick.
std::vector<Check> examine_host(const Config& config);

/// The same list for /api/v1/capabilities; "not applicable" stands as unavailable without advice.
std::vector<StatusView::Capability> to_capabilities(const std::vector<Check>& checks);

std::string doctor_text(const std::vector<Check>& checks);
/// {"ok": bool, "checks": [{"name", "answer": "yes"|"no"|"n.a.", "required", "detail", "advice"}]}
std::string doctor_json(const std::vector<Check>& checks);

/// No required check says "no".
bool fit_to_run(const std::vector<Check>& checks);

}  // namespace koordlet::app
