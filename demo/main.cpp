#include "interference.hpp"
#include "options.hpp"
#include "scenario.hpp"

int main(int argc, char** argv) {
  int code = 0;
  const auto options = koordlet::demo::parse_options(argc, argv, code);
  if (!options) return code;
  if (options->interference) return koordlet::demo::run_interference(*options);
  return koordlet::demo::Scenario{*options}.run();
}
