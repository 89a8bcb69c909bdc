#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

/// Stored samples as text for other programs. Pure: pieces of answers in, text out.
namespace koordlet::app {

enum class ExportFormat { kOpenMetrics, kCsv };
std::optional<ExportFormat> export_format(std::string_view name);  ///< "openmetrics", "csv"

/// A sample, or the mean of a minute where samples are gone.
struct ExportPoint {
  std::int64_t at_ms = 0;
  double value = 0;
  std::string text;  ///< as it is stored
  bool minute = false;
};

/// One series of a page of /api/v1/samples.
struct ExportSeries {
  std::string metric, unit;  ///< unit "": not known to the daemon
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<ExportPoint> points;  ///< by rising time
};
ExportSeries export_series(const boost::json::value& item);

/// A format. Series come metric by metric, and one series may come in several pieces.
class ExportText {
 public:
  /// `label_columns`: of CSV, every label that may come.
  ExportText(ExportFormat format, std::vector<std::string> label_columns)
      : format_{format}, columns_{std::move(label_columns)} {}
  std::string head() const;
  std::string piece(const ExportSeries& series);
  std::string tail() const;

 private:
  std::string openmetrics(const ExportSeries& series);
  std::string csv(const ExportSeries& series) const;

  ExportFormat format_;
  std::vector<std::string> columns_;
  std::string family_;  ///< whose head is written
};

}  // namespace koordlet::app
