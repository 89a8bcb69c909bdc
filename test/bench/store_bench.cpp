// Figures of the metric store. One JSON object a line.
//   bench_store                          all figures but bytes of a folder
//   bench_store PART                     some: loop, kill, append, query, days, week
//   bench_store bytes [--traces DIR]     bytes a sample over the CSV files of DIR
//   bench_store record FILE --seconds N  samples this machine each second
#include "store_bench.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "metric_recorder.hpp"

using namespace koordlet::bench;

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 4 && words[0] == "record" && words[2] == "--seconds") {
    return record_machine(words[1], std::chrono::seconds{std::atoi(words[3].c_str())}) ? 0 : 1;
  }
  if (words.size() == 3 && words[0] == "bytes" && words[1] == "--traces")
    return bytes_figures(words[2]);
  struct Part {
    const char* name;
    void (*run)();
  };
  constexpr Part kParts[] = {{"loop", loop_figures},
                             {"kill", kill_figures},
                             {"append", append_figures},
                             {"query", query_figures},
                             {"days", three_days_figures},
                             {"week", week_figures}};
  bool known = words.empty();
  for (const auto& part : kParts) {
    if (!words.empty() && (words.size() > 1 || words[0] != part.name)) continue;
    part.run();
    known = true;
  }
  if (known) return 0;
  fmt::print(stderr,
             "bench_store: expected nothing, loop, kill, append, query, days, week, "
             "'bytes --traces DIR' or 'record FILE --seconds N'\n");
  return 2;
}
