#pragma once

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace koordlet::bench {

/// One figure as one JSON object a line. `floor`: the bare cost of the same work in the same run;
/// 0: there is none, and no ratio.
inline void print(std::string_view name, double value, std::string_view unit, double floor) {
  fmt::print(R"({{"name": "{}", "value": {:.3f}, "unit": "{}", "floor": {:.3f}, "ratio": {:.3f}}})"
             "\n",
             name,
             value,
             unit,
             floor,
             floor > 0 ? value / floor : 0);
  std::fflush(stdout);
}

/// RssAnon of this process, MiB; 0: the kernel does not say.
inline double anonymous_mb() {
  std::ifstream status{"/proc/self/status"};
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == "RssAnon:" && status >> kib) return kib / 1024;
  }
  return 0;
}

}  // namespace koordlet::bench
