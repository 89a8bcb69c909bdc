#include <string>
#include <vector>

#include "fuzz.hpp"
#include "k8s/line_splitter.hpp"

namespace {

using namespace koordlet;
using namespace koordlet::fuzz;

constexpr std::size_t kMaxLine = 40;

struct Read {
  std::vector<std::string> lines;
  bool failed = false;
  std::size_t left = 0;
};

Read read_all(std::string_view wire, Choices cuts, bool whole) {
  Read out;
  k8s::LineSplitter lines{kMaxLine};
  while (!wire.empty() && !out.failed) {
    const auto piece = whole ? wire : wire.substr(0, cuts.byte() % 13 + 1);
    wire.remove_prefix(piece.size());
    lines.add(std::string{piece});
    for (;;) {
      const auto line = lines.next();
      out.failed = line.has_error();
      if (out.failed || !*line) break;
      require((*line)->size() <= kMaxLine, "a line is bounded");
      require(!(*line)->empty(), "blank lines are skipped");
      require((*line)->find('\n') == std::string_view::npos, "a line has no line end");
      out.lines.emplace_back(**line);
    }
  }
  out.left = lines.left();
  return out;
}

}  // namespace

/// First 16 bytes: where the stream is cut; the rest is the stream.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = text_of(data, size);
  const auto cuts = input.substr(0, 16);
  const auto wire = input.substr(cuts.size());
  const auto whole = read_all(wire, Choices{cuts}, true);
  const auto pieces = read_all(wire, Choices{cuts}, false);
  require(whole.failed == pieces.failed, "a fault does not depend on the cuts");
  require(whole.lines == pieces.lines, "lines do not depend on the cuts");
  if (!whole.failed) require(whole.left == pieces.left, "nor does what is left");
  return 0;
}
