#include "sim/plot.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "sim/svg.hpp"

namespace koordlet::sim {
namespace {

constexpr int kWidth = 1000, kHeight = 560;
constexpr double kLeft = 70, kRight = 980;
constexpr const char* kGrid = "#dddddd";
constexpr const char* kInk = "#333333";

struct Line {
  const char* name;
  const char* color;
  const char* dash;
  std::function<std::optional<double>(const Row&)> value;
};

/// One picture in the picture: values over the time of the run.
struct Panel {
  double top, bottom, most;  ///< pixels, pixels, value at the top
  double seconds;            ///< of the run

  double x(milliseconds t) const {
    return kLeft + (kRight - kLeft) * static_cast<double>(t.count()) / 1000 / seconds;
  }
  double y(double v) const { return bottom - (bottom - top) * std::clamp(v / most, 0.0, 1.0); }
};

/// A unit for times of this length.
std::pair<const char*, double> time_unit(double seconds) {
  if (seconds <= 600) return {"s", 1};
  return seconds <= 4 * 3600 ? std::pair{"min", 60.0} : std::pair{"h", 3600.0};
}

void draw_axes(Svg& svg, const Panel& p, const std::string& label, bool times) {
  for (const double v : round_ticks(0, p.most, 6)) {
    svg.line({kLeft, p.y(v)}, {kRight, p.y(v)}, kGrid);
    svg.text({kLeft - 6, p.y(v) + 4}, fmt::format("{:.6g}", v), Svg::Anchor::kEnd, 11);
  }
  const auto [unit, length] = time_unit(p.seconds);
  for (const double v : round_ticks(0, p.seconds / length, 10)) {
    const double x = kLeft + (kRight - kLeft) * v * length / p.seconds;
    svg.line({x, p.top}, {x, p.bottom}, kGrid);
    if (times) svg.text({x, p.bottom + 16}, fmt::format("{:.6g}", v), Svg::Anchor::kMiddle, 11);
  }
  svg.line({kLeft, p.top}, {kLeft, p.bottom}, kInk);
  svg.line({kLeft, p.bottom}, {kRight, p.bottom}, kInk);
  svg.vertical_text({18, (p.top + p.bottom) / 2}, label);
  if (times) {
    svg.text(
        {(kLeft + kRight) / 2, p.bottom + 34}, fmt::format("time, {}", unit), Svg::Anchor::kMiddle);
  }
}

void draw_bands(Svg& svg, const Panel& p, const Timeline& timeline) {
  const auto& rows = timeline.rows;
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t end = i + 1;
    const auto same = [&](const Row& r) {
      return r.level == rows[i].level && r.watched == rows[i].watched;
    };
    while (end < rows.size() && same(rows[end])) ++end;
    // The level at the end of a step holds until the end of the next one.
    const double from = p.x(rows[i].at);
    const double to = p.x(end < rows.size() ? rows[end].at : rows.back().at);
    if (rows[i].watched && rows[i].level != policy::Level::kNone && to > from) {
      const bool high = rows[i].level == policy::Level::kHigh;
      svg.rect(from, p.top, to - from, p.bottom - p.top, high ? "#fbdcd9" : "#fdf1cf");
    }
    i = end;
  }
}

/// Stairs, as each value held for its step; means where several steps share a pixel.
void draw_line(Svg& svg, const Panel& p, const Timeline& timeline, const Line& line) {
  const auto& rows = timeline.rows;
  const std::size_t group =
      std::max<std::size_t>(rows.size() / static_cast<std::size_t>(kRight - kLeft), 1);
  std::vector<Svg::Point> points;
  const auto flush = [&] {
    svg.polyline(points, line.color, line.dash);
    points.clear();
  };
  for (std::size_t i = 0; i < rows.size(); i += group) {
    const std::size_t end = std::min(i + group, rows.size());
    double sum = 0;
    int known = 0;
    for (std::size_t n = i; n < end; ++n) {
      const auto v = line.value(rows[n]);
      sum += v.value_or(0);
      known += v ? 1 : 0;
    }
    if (known == 0) {
      flush();
      continue;
    }
    const double y = p.y(sum / known);
    points.emplace_back(p.x(rows[i].at - rows[i].length), y);
    points.emplace_back(p.x(rows[end - 1].at), y);
  }
  flush();
}

void draw_legend(Svg& svg, const std::vector<Line>& lines) {
  double x = kLeft;
  for (const auto& l : lines) {
    svg.polyline({{x, 44}, {x + 26, 44}}, l.color, l.dash);
    svg.text({x + 32, 48}, l.name);
    x += 130;
  }
  for (const auto& [name, color] : {std::pair{"level MID", "#fdf1cf"}, {"level HIGH", "#fbdcd9"}}) {
    svg.rect(x, 36, 20, 14, color);
    svg.text({x + 26, 48}, name);
    x += 110;
  }
}

}  // namespace

std::string plot_svg(const Scenario& scenario,
                     const Timeline& timeline,
                     const std::string& title,
                     bool measured) {
  std::vector<Line> lines{
      {"LS demand", "#7fb2e5", "5 3", [](const Row& r) { return std::optional{r.use.ls_demand}; }},
      {"LS use", "#1f5fa8", "", [](const Row& r) { return std::optional{r.use.ls_used}; }},
      {"BE use", "#2e8b57", "", [](const Row& r) { return std::optional{r.use.be_used}; }},
      {"BE cap", "#b03a2e", "2 2", [](const Row& r) { return r.use.be_cap; }}};
  if (measured) lines.erase(lines.begin());
  const double seconds = static_cast<double>(scenario.duration.count()) / 1000;
  double latency = 0;
  for (const auto& r : timeline.rows) latency = std::max(latency, r.use.ls_p99_ms);
  const Panel cpu{64, measured ? 510.0 : 360.0, scenario.node.cpus * 1.02, seconds};
  const Panel late{390, 510, std::max(latency * 1.1, 1.0), seconds};

  Svg svg{kWidth, kHeight};
  svg.text({kLeft, 24}, title, Svg::Anchor::kStart, 15);
  draw_legend(svg, lines);
  draw_bands(svg, cpu, timeline);
  draw_axes(svg, cpu, "CPU, cores", measured);
  for (const auto& line : lines) draw_line(svg, cpu, timeline, line);
  if (measured) return svg.str();
  draw_bands(svg, late, timeline);
  draw_axes(svg, late, "LS p99, ms", true);
  draw_line(svg, late, timeline, {"LS p99", "#6a3d9a", "", [](const Row& r) {
                                    return std::optional{r.use.ls_p99_ms};
                                  }});
  return svg.str();
}

}  // namespace koordlet::sim
