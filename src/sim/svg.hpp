#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace koordlet::sim {

/// Writes one SVG 1.1 picture. Coordinates are pixels from the top left corner.
class Svg {
 public:
  using Point = std::pair<double, double>;
  enum class Anchor { kStart, kMiddle, kEnd };

  Svg(int width, int height);
  void rect(double x, double y, double width, double height, std::string_view fill);
  void line(Point from, Point to, std::string_view stroke);
  /// `dash`: "" for a solid line, else as in stroke-dasharray.
  void polyline(const std::vector<Point>& points,
                std::string_view stroke,
                std::string_view dash = "");
  void text(Point at, std::string_view words, Anchor anchor = Anchor::kStart, int size = 12);
  /// Turned a quarter to the left: for the label of a vertical axis.
  void vertical_text(Point at, std::string_view words);
  std::string str() const { return out_ + "</svg>\n"; }

 private:
  std::string out_;
};

/// &, <, > and quotes as entities; what XML 1.0 does not allow becomes '?'.
std::string xml_text(std::string_view text);

/// About `wanted` round values over low..high (1, 2, 5 x 10^n apart), ends included if round.
std::vector<double> round_ticks(double low, double high, int wanted);

}  // namespace koordlet::sim
