#include "sim/svg.hpp"

#include <cmath>

#include <fmt/format.h>

namespace koordlet::sim {
namespace {

std::string_view anchor_text(Svg::Anchor a) {
  switch (a) {
    case Svg::Anchor::kStart:
      return "start";
    case Svg::Anchor::kMiddle:
      return "middle";
    case Svg::Anchor::kEnd:
      return "end";
  }
  return "start";
}

}  // namespace

Svg::Svg(int width, int height) {
  out_ = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\">\n",
      width,
      height);
  rect(0, 0, width, height, "#ffffff");
}

void Svg::rect(double x, double y, double width, double height, std::string_view fill) {
  out_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n",
      x,
      y,
      width,
      height,
      xml_text(fill));
}

void Svg::line(Point from, Point to, std::string_view stroke) {
  out_ +=
      fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n",
                  from.first,
                  from.second,
                  to.first,
                  to.second,
                  xml_text(stroke));
}

void Svg::polyline(const std::vector<Point>& points,
                   std::string_view stroke,
                   std::string_view dash) {
  if (points.empty()) return;
  out_ +=
      fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"", xml_text(stroke));
  if (!dash.empty()) out_ += fmt::format(" stroke-dasharray=\"{}\"", xml_text(dash));
  out_ += " points=\"";
  for (const auto& [x, y] : points) out_ += fmt::format("{:.1f},{:.1f} ", x, y);
  out_.back() = '"';
  out_ += "/>\n";
}

void Svg::text(Point at, std::string_view words, Anchor anchor, int size) {
  out_ +=
      fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" text-anchor=\"{}\">{}</text>\n",
                  at.first,
                  at.second,
                  size,
                  anchor_text(anchor),
                  xml_text(words));
}

void Svg::vertical_text(Point at, std::string_view words) {
  out_ += fmt::format(
      "<text x=\"{0:.1f}\" y=\"{1:.1f}\" font-size=\"12\" text-anchor=\"middle\" "
      "transform=\"rotate(-90 {0:.1f} {1:.1f})\">{2}</text>\n",
      at.first,
      at.second,
      xml_text(words));
}

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        // Beyond ASCII the bytes may be no UTF-8 at all.
        out += c >= 0x20 && c < 0x7f ? c : '?';
    }
  }
  return out;
}

std::vector<double> round_ticks(double low, double high, int wanted) {
  if (!(high > low) || wanted < 1) return {low};
  const double rough = (high - low) / wanted;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double lead = rough / power;
  const double step = power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
  std::vector<double> out;
  for (double n = std::ceil(low / step - 1e-9); n * step <= high + step * 1e-9; ++n) {
    out.push_back(n * step);
  }
  return out;
}

}  // namespace koordlet::sim
