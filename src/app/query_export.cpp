#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <unistd.h>

#include <fmt/format.h>

#include "app/daemon_answer.hpp"
#include "app/export_text.hpp"
#include "app/json_path.hpp"
#include "app/query_command.hpp"
#include "app/query_options.hpp"
#include "app/whole_file.hpp"
#include "model/metric_kind.hpp"
#include "model/metric_selector.hpp"

namespace koordlet::app {
namespace {

namespace json = boost::json;
using Steady = std::chrono::steady_clock;

// 4000 samples a page: 200 pods of 20 metrics over 7 days of minutes are 10,000 pages.
constexpr std::int64_t kMaxExportPages = 1'000'000;
constexpr std::chrono::milliseconds kTerminalPause{200};
constexpr std::chrono::milliseconds kLogPause{10'000};

/// Labels of the metrics that may come, in the order of first sight.
std::vector<std::string> label_columns(const json::value& metrics, std::string_view metric) {
  std::vector<std::string> out;
  const auto add = [&](std::string name) {
    if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(std::move(name));
  };
  for (const auto& m : json_array(metrics, "items")) {
    if (!metric.empty() && json_text(m, "metric", "") != metric) continue;
    for (const auto& label : json_array(m, "labels")) add(json_text(label, "", ""));
  }
  // A series whose owner does not have its kind's shape is shown by it.
  add(std::string{kOwnerLabel});
  return out;
}

std::string samples_target(const QueryOptions& options, const std::string& selector) {
  std::string out = "/api/v1/samples?window=" + percent_encoded(options.window);
  if (!selector.empty()) out += "&match=" + percent_encoded(selector);
  return out;
}

Result<void> write_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return {};
  return errno_error(errno, "stdout", "write");
}

/// Overwrites its line on a terminal; elsewhere a line now and then, for logs of long exports.
class Progress {
 public:
  void show(const std::string& line) {
    const auto now = Steady::now();
    if (now - shown_ < (terminal_ ? kTerminalPause : kLogPause)) return;
    shown_ = now;
    std::fprintf(stderr, terminal_ ? "\r%s\x1b[K" : "%s\n", line.c_str());
    std::fflush(stderr);
    open_ = terminal_;
  }
  ~Progress() {
    if (open_) std::fputs("\r\x1b[K", stderr);
  }
  Progress() = default;
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  bool terminal_ = ::isatty(STDERR_FILENO) != 0;
  bool open_ = false;
  Steady::time_point shown_ = Steady::now();
};

}  // namespace

CommandOutput run_export(const CommandLine& command,
                         const std::string& socket,
                         const Ask& ask,
                         const ExportSink& sink) {
  if (socket.empty()) return failed("status.socket is empty: there is no way to ask the daemon");
  const auto selector = selector_of(command.query);
  if (!selector) return failed(selector.error().context);
  const auto format = export_format(command.query.format);
  if (!format) return failed("--export: expected openmetrics or csv");
  const auto metrics = fetch(socket, ask, "/api/v1/series?by=metric");
  if (!metrics.ok()) return metrics.failure;
  const auto metric = selector->empty() ? std::string{} : parse_selector(*selector)->metric;
  ExportText text{*format, label_columns(metrics.body, metric)};
  if (const auto r = sink.write(text.head()); !r) return failed(r.error().context);
  const auto first = samples_target(command.query, *selector);
  std::string target = first;
  std::size_t points = 0;
  for (std::int64_t page = 0;; ++page) {
    if (page == kMaxExportPages) return failed("the daemon's list does not end");
    const auto answer = fetch(socket, ask, target);
    if (!answer.ok()) return answer.failure;
    for (const auto& item : json_array(answer.body, "items")) {
      const auto series = export_series(item);
      points += series.points.size();
      if (const auto r = sink.write(text.piece(series)); !r) return failed(r.error().context);
    }
    sink.progress(fmt::format("exported {} of {} series, {} samples",
                              json_text(answer.body, "series_done", "?"),
                              json_text(answer.body, "series", "?"),
                              points));
    const auto token = json_text(answer.body, "continue", "");
    if (token.empty()) break;
    if (page == 0) {  // all pages end where the first one did
      target = first + fmt::format("&end={}", json_integer(answer.body, "to_ms").value_or(0));
    } else {
      target.resize(target.rfind("&continue="));
    }
    target += "&continue=" + percent_encoded(token);
  }
  if (const auto r = sink.write(text.tail()); !r) return failed(r.error().context);
  return {};
}

CommandOutput run_export_to(const CommandLine& command, const std::string& socket, const Ask& ask) {
  Progress progress;
  ExportSink sink{write_stdout, [&](const std::string& line) { progress.show(line); }};
  if (command.query.output.empty()) return run_export(command, socket, ask, sink);
  WholeFile file{command.query.output};
  if (const auto r = file.open(); !r) return failed(r.error().context);
  sink.write = [&](std::string_view text) { return file.write(text); };
  auto out = run_export(command, socket, ask, sink);
  if (out.exit_code != kExitOk) return out;
  if (const auto r = file.keep(); !r) return failed(r.error().context);
  return out;
}

}  // namespace koordlet::app
