#include "options.hpp"

#include <cstdio>
#include <iostream>

#include <boost/program_options.hpp>

namespace koordlet::demo {

std::optional<Options> parse_options(int argc, char** argv, int& code) {
  namespace po = boost::program_options;
  Options o;
  po::options_description text{
      "koordlet-demo: a small LS and BE load on this machine's cgroups, with koordlet on it"};
  text.add_options()("help,h", "this text")(
      "koordlet", po::value(&o.koordlet)->required(), "the daemon's program")(
      "manifests",
      po::value(&o.manifests)->default_value(KOORDLET_DEMO_MANIFESTS),
      "folder of the demo's manifests")("duration",
                                        po::value(&o.duration_s)->default_value(o.duration_s),
                                        "seconds with koordlet; 0: until Ctrl-C")(
      "node-cpu",
      po::value(&o.node_cpu_milli)->default_value(0),
      "node size in milli-cores; 0: this machine's")(
      "ls-low",
      po::value(&o.ls_low_permille)->default_value(o.ls_low_permille),
      "low LS load, permille of each LS thread")(
      "ls-high", po::value(&o.ls_high_permille)->default_value(o.ls_high_permille), "high LS load")(
      "be-load",
      po::value(&o.be_permille)->default_value(o.be_permille),
      "BE load, permille of each BE thread")(
      "ls-threads", po::value(&o.ls_threads)->default_value(0), "0: one a CPU")(
      "be-threads", po::value(&o.be_threads)->default_value(0), "per BE pod; 0: one a CPU")(
      "period-us", po::value(&o.period_us)->default_value(o.period_us), "period of the LS loop")(
      "step",
      po::value(&o.step_s)->default_value(o.step_s),
      "seconds between two steps of the LS load")(
      "warmup",
      po::value(&o.warmup_s)->default_value(o.warmup_s),
      "seconds of each phase without koordlet; 0: none")(
      "be-shares",
      po::value(&o.be_shares)->default_value(0),
      "weight of the BE class before koordlet; 0: kernel default")(
      "interference",
      po::bool_switch(&o.interference),
      "three phases: the LS pod's interference degree alone, beside BE, beside capped BE")(
      "window",
      po::value(&o.window_s)->default_value(o.window_s),
      "seconds of an interference window")("systemd-names",
                                           po::bool_switch(&o.systemd_names),
                                           "name the tree as the systemd driver does")(
      "dry-run", po::bool_switch(&o.dry_run), "koordlet computes and shows, and writes nothing")(
      "keep-log", po::bool_switch(&o.keep_log), "print koordlet's log at the end");
  try {
    po::variables_map vm;
    po::store(po::parse_command_line(argc, argv, text), vm);
    if (vm.count("help") != 0) {
      std::cout << text;
      code = 0;
      return std::nullopt;
    }
    po::notify(vm);
  } catch (const po::error& e) {
    std::fprintf(stderr, "koordlet-demo: %s\n", e.what());
    code = 2;
    return std::nullopt;
  }
  const auto share = [](int v) { return v >= 0 && v <= 1000; };
  if (!share(o.ls_low_permille) || !share(o.ls_high_permille) || !share(o.be_permille) ||
      o.duration_s < 0 || o.node_cpu_milli < 0 || o.period_us < 100 || o.step_s < 4 ||
      o.warmup_s < 0 || o.be_shares < 0 || o.window_s < 2 || o.window_s > 60) {
    std::fprintf(stderr,
                 "koordlet-demo: loads are 0..1000 permille, times 0 or more, --step 4 or more, "
                 "--period-us 100 or more, --window 2 to 60\n");
    code = 2;
    return std::nullopt;
  }
  return o;
}

}  // namespace koordlet::demo
