#include "app/predict_command.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "app/setting.hpp"
#include "app/text_table.hpp"
#include "base/parse.hpp"
#include "kernel/fd.hpp"

namespace koordlet::app {
namespace {

using std::chrono::seconds;

constexpr std::size_t kMostBytes = 64u << 20;
constexpr int kMostColumns = 1000, kMostNodes = 10000;
constexpr seconds kProgressEach{2};

Error usage(std::string_view option, std::string_view value, std::string_view want) {
  return {Errc::kParse, fmt::format("--{}: {}: expected {}", option, terminal_text(value), want)};
}

Result<seconds> duration(std::string_view option, const std::string& text, seconds most) {
  const auto ms = parse_duration_ms(text);
  const auto want = fmt::format("a duration of 5m to {}h, in minutes", most.count() / 3600);
  if (!ms || *ms < 300'000 || *ms > most.count() * 1000 || *ms % 60'000 != 0)
    return usage(option, text, want);
  return seconds{*ms / 1000};
}

Result<int> whole(std::string_view option, const std::string& text, int most) {
  const auto n = parse_i64(text);
  if (!n || *n < 1 || *n > most) return usage(option, text, fmt::format("1 to {}", most));
  return static_cast<int>(*n);
}

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

std::string hours(seconds s) {
  return fmt::format("{:.4g} h", static_cast<double>(s.count()) / 3600);
}

}  // namespace

Result<ReplayOptions> replay_options(const ReplayArguments& a) {
  ReplayOptions out;
  out.column = a.column;
  if (!a.horizon.empty()) {
    const auto v = duration("horizon", a.horizon, std::chrono::hours{24});
    if (!v) return v.error();
    out.horizon = *v;
  }
  if (!a.warmup.empty()) {
    const auto v = duration("warmup", a.warmup, std::chrono::hours{24 * 366});
    if (!v) return v.error();
    out.warmup = *v;
  }
  if (!a.sum.empty()) {
    if (!a.column.empty()) return Error{Errc::kParse, "--sum: expected it without --column"};
    const auto v = whole("sum", a.sum, kMostColumns);
    if (!v) return v.error();
    out.sum = *v;
  }
  if (!a.nodes.empty()) {
    if (a.sum.empty()) return Error{Errc::kParse, "--nodes: expected --sum with it"};
    const auto v = whole("nodes", a.nodes, kMostNodes);
    if (!v) return v.error();
    out.nodes = *v;
  }
  if (!a.capacity.empty()) {
    const auto v = parse_real(a.capacity);
    if (!v || *v <= 0) return usage("capacity", a.capacity, "a number above 0");
    out.capacity = *v;
  }
  return out;
}

std::string replay_text(const std::string& file, const ReplayResult& r) {
  using Align = TextTable::Align;
  std::string out = fmt::format("{}: {} series, a value each {} s; horizon {}{}, warm-up {}\n\n",
                                terminal_text(file),
                                r.series,
                                r.step.count(),
                                hours(r.horizon),
                                r.horizon_cut ? " (cut to the recording)" : "",
                                hours(r.warmup));
  TextTable table{{{"PREDICTOR"},
                   {"WINDOWS", Align::kRight},
                   {"VIOLATIONS", Align::kRight},
                   {"SHORTFALL", Align::kRight},
                   {"OVER", Align::kRight},
                   {"VOLUME OVER", Align::kRight},
                   {"WITHIN 20 %", Align::kRight},
                   {"PINBALL", Align::kRight}}};
  for (const auto& row : r.rows) {
    const auto& s = row.score;
    table.row({row.predictor,
               fmt::format("{:.0f}", s.windows),
               percent(s.violation_share()),
               percent(s.mean_shortfall()),
               percent(s.mean_over()),
               percent(s.volume_over()),
               percent(s.within_share()),
               fmt::format("{:.4f}", s.mean_pinball())});
  }
  out += table.text();
  out += fmt::format(
      "\n{} windows not scored (gaps, or a peak of 0); {} bytes a model, {:.0f} us a value\n",
      r.unknown_peaks,
      r.bytes_per_model,
      r.milliseconds * 1000);
  return out;
}

std::string replay_json(const std::string& file, const ReplayResult& r) {
  namespace json = boost::json;
  json::array rows;
  for (const auto& row : r.rows) {
    const auto& s = row.score;
    rows.push_back(json::object{{"predictor", row.predictor},
                                {"windows", s.windows},
                                {"violation_share", s.violation_share()},
                                {"mean_shortfall", s.mean_shortfall()},
                                {"mean_over", s.mean_over()},
                                {"volume_over", s.volume_over()},
                                {"within_20_percent_share", s.within_share()},
                                {"pinball_loss", s.mean_pinball()}});
  }
  json::object out{{"file", file},
                   {"series", r.series},
                   {"step_seconds", r.step.count()},
                   {"horizon_seconds", r.horizon.count()},
                   {"horizon_cut", r.horizon_cut},
                   {"warmup_seconds", r.warmup.count()},
                   {"windows_not_scored", r.unknown_peaks},
                   {"bytes_per_model", r.bytes_per_model},
                   {"predictors", std::move(rows)}};
  return json::serialize(out) + "\n";
}

CommandOutput run_replay(const std::string& file,
                         const ReplayOptions& options,
                         bool json,
                         const std::function<void(const std::string&)>& progress) {
  CommandOutput out;
  const auto fail = [&](const Error& e) {
    out.exit_code = kExitFailed;
    out.err += fmt::format("{}: {}\n", terminal_text(file), e.context);
    return out;
  };
  const auto text = kernel::read_file(file, kMostBytes);
  if (!text) {
    out.exit_code = kExitFailed;
    out.err = terminal_text(text.error().context) + "\n";
    return out;
  }
  const auto table = parse_series(*text);
  if (!table) return fail(table.error());
  if (table->left_out > 0) {
    out.err =
        fmt::format("{}: {} rows not later than the row before, the first in line {}: ignoring\n",
                    terminal_text(file),
                    table->left_out,
                    table->first_left_out_line);
  }
  auto shown = std::chrono::steady_clock::now();
  const auto result = replay(*table, options, [&](std::size_t done, std::size_t of) {
    const auto now = std::chrono::steady_clock::now();
    if (now - shown < kProgressEach || done == of) return;
    shown = now;
    progress(fmt::format("{}: {} of {} series\n", terminal_text(file), done, of));
  });
  if (!result) return fail(result.error());
  out.out = json ? replay_json(file, *result) : replay_text(file, *result);
  return out;
}

}  // namespace koordlet::app
