#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace koordlet::demo {

struct Options {
  std::string koordlet;    ///< the daemon's program
  std::string manifests;   ///< folder with the pod manifests of the demo
  int duration_s = 0;      ///< seconds with koordlet running; 0: until Ctrl-C
  int node_cpu_milli = 0;  ///< node size told to koordlet; 0: what the machine has
  int ls_low_permille = 100;
  int ls_high_permille = 600;
  int be_permille = 1000;
  int ls_threads = 0;  ///< 0: one a CPU
  int be_threads = 0;
  int period_us = 1000;  ///< of the LS loop
  int step_s = 15;       ///< seconds between two steps of the LS load
  int warmup_s = 6;      ///< each of the two phases without koordlet; 0 leaves them out
  int be_shares = 0;     ///< weight of the best-effort class at the start; 0: the kernel's default
  int window_s = 5;      ///< of interference
  bool interference = false;  ///< the three phases of the interference degree, and nothing else
  bool systemd_names = false;
  bool dry_run = false;
  bool keep_log = false;
};

/// nullopt: help was asked for or the arguments are wrong; the text is already out, exit with
/// `code`.
std::optional<Options> parse_options(int argc, char** argv, int& code);

}  // namespace koordlet::demo
