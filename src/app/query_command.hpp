#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "app/client.hpp"

/// koordlet query: history as a table, as JSON, or exported.
namespace koordlet::app {

/// The table (all pages), or with --json the answers as one body. Without a metric: the list of
/// metrics.
CommandOutput run_query(const CommandLine& command, const std::string& socket, const Ask& ask);

/// Where an export goes. Seams for tests.
struct ExportSink {
  std::function<Result<void>(std::string_view)> write;
  std::function<void(const std::string&)> progress;  ///< a line for people, now and then
};

/// Writes pages as they come; memory does not grow with the export. A failure leaves a text without
/// its end ("# EOF" in OpenMetrics).
CommandOutput run_export(const CommandLine& command,
                         const std::string& socket,
                         const Ask& ask,
                         const ExportSink& sink);

/// run_export to --output (a temporary file beside it that takes its name when it is whole and on
/// disk) or to stdout, with progress on stderr.
CommandOutput run_export_to(const CommandLine& command, const std::string& socket, const Ask& ask);

}  // namespace koordlet::app
