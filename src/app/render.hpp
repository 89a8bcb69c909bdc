#pragma once

#include <string>

#include <boost/json/value.hpp>

/// Answers of the REST API as text for a terminal (docs/rest.md has the fields).
namespace koordlet::app {

std::string render_status(const boost::json::value& status);  ///< /api/v1/status
/// /api/v1/pods; `items` of several pages may stand in one body.
std::string render_pods(const boost::json::value& pods);
std::string render_query(const boost::json::value& answer);     ///< /api/v1/query, all pages
std::string render_metrics(const boost::json::value& list);     ///< /api/v1/series?by=metric
std::string render_explain(const boost::json::value& explain);  ///< /api/v1/explain/POD

}  // namespace koordlet::app
