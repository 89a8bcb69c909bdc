#include "app/command_line.hpp"

#include <algorithm>
#include <array>

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <boost/program_options/variables_map.hpp>
#include <fmt/format.h>

#include "app/predict_command.hpp"
#include "app/query_options.hpp"
#include "app/setting.hpp"
#include "base/parse.hpp"

namespace po = boost::program_options;

namespace koordlet::app {
namespace {

/// Options of `predict` and where their text goes.
struct ReplayOption {
  std::string_view name, value, about;
  std::string ReplayArguments::*text;  ///< nullptr: the file
};
constexpr std::array<ReplayOption, 7> kReplayOptions{
    {{"replay", "FILE", "CSV: timestamp, minute or second, then amounts", nullptr},
     {"horizon", "DURATION", "peak of so much time, 5m to 24h (1h)", &ReplayArguments::horizon},
     {"warmup", "DURATION", "nothing is scored before (24h)", &ReplayArguments::warmup},
     {"column", "NAME", "only this one; without it each is a series", &ReplayArguments::column},
     {"sum", "N", "nodes that are sums of N columns", &ReplayArguments::sum},
     {"nodes", "N", "so many of them, drawn at random (40)", &ReplayArguments::nodes},
     {"capacity", "AMOUNT", "no forecast above it", &ReplayArguments::capacity}}};

struct VerbRow {
  std::string_view name;
  Verb verb;
  std::size_t min_arguments, max_arguments;
  std::string_view arguments;  ///< as shown in help
  bool json, dry_run, keys;    ///< takes --json, --dry-run, the flags of keys
  std::string_view about;
};

constexpr std::array<VerbRow, 13> kVerbs{{
    {"run", Verb::kRun, 0, 0, "", false, true, true, "run the daemon (the default)"},
    {"check-config",
     Verb::kCheckConfig,
     0,
     1,
     "[FILE]",
     false,
     true,
     true,
     "name every fault of a configuration file"},
    {"doctor",
     Verb::kDoctor,
     0,
     0,
     "",
     true,
     false,
     false,
     "what this host offers, and what to do about what it does not"},
    {"status", Verb::kStatus, 0, 0, "", true, false, false, "the running daemon in one page"},
    {"pods", Verb::kPods, 0, 0, "", true, false, false, "pods with their use and their caps"},
    {"explain",
     Verb::kExplain,
     1,
     1,
     "POD",
     true,
     false,
     false,
     "why a pod (uid or namespace/name) has the limits it has"},
    {"query",
     Verb::kQuery,
     0,
     1,
     "[METRIC]",
     true,
     false,
     false,
     "history of a metric; without METRIC, the metrics there are"},
    {"restore",
     Verb::kRestore,
     0,
     0,
     "",
     false,
     true,
     false,
     "put every changed control file back"},
    {"predict",
     Verb::kPredict,
     0,
     0,
     "",
     true,
     false,
     false,
     "score the peak predictors on a recorded series"},
    {"simulate",
     Verb::kSimulate,
     0,
     1,
     "FILE",
     true,
     false,
     false,
     "run the rules over a modelled node, or again over a recording"},
    {"cri-proxy",
     Verb::kCriProxy,
     0,
     0,
     "",
     false,
     false,
     false,
     "stand between kubelet and the container runtime"},
    {"version", Verb::kVersion, 0, 0, "", false, false, false, "print the version"},
    {"help", Verb::kHelp, 0, 1, "", false, false, false, "print this text"},
}};

const VerbRow* find_verb(std::string_view name) {
  for (const auto& row : kVerbs) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

Error usage(std::string text) { return {Errc::kParse, std::move(text) + "; see `koordlet help`"}; }

po::options_description all_options() {
  po::options_description out;
  auto add = out.add_options();
  add("config", po::value<std::string>());
  add("socket", po::value<std::string>());
  add("set", po::value<std::vector<std::string>>());
  for (const auto& o : kReplayOptions) add(std::string{o.name}.c_str(), po::value<std::string>());
  for (const char* name :
       {"plot", "from", "since", "listen", "runtime", "hooks", "hook-timeout", "grace"})
    add(name, po::value<std::string>());
  add("json", po::bool_switch());
  add("dry-run", po::bool_switch());
  for (const auto& o : query_flags()) {
    const std::string name{o.name};
    add(name.c_str(),
        name == "label" ? po::value<std::vector<std::string>>()->composing()
                        : static_cast<po::value_semantic*>(po::value<std::string>()));
  }
  add("help,h", po::bool_switch());
  add("version", po::bool_switch());
  for (const auto& s : settings()) {
    if (!s.flag.empty()) add(s.flag.c_str(), po::value<std::string>());
  }
  add("words", po::value<std::vector<std::string>>());
  return out;
}

Result<po::variables_map> parse(const std::vector<std::string>& args) {
  namespace style = po::command_line_style;
  const po::options_description options = all_options();
  po::positional_options_description words;
  words.add("words", -1);
  po::variables_map out;
  try {
    // An abbreviated flag would change its meaning when a new flag comes.
    const int how = style::unix_style & ~style::allow_guessing;
    po::store(po::command_line_parser(args).options(options).positional(words).style(how).run(),
              out);
    po::notify(out);
  } catch (const po::error& e) {
    return usage(printable(e.what()));
  }
  // The name of the positional words is no flag.
  for (const auto& a : args) {
    if (a == "--words" || a.starts_with("--words=")) {
      return usage("unrecognised option '--words'");
    }
    if (a == "--") break;
  }
  return out;
}

Result<void> take_overrides(const po::variables_map& options,
                            const VerbRow& row,
                            CommandLine& out) {
  if (options.contains("socket")) {
    out.overrides.emplace_back("status.socket", options["socket"].as<std::string>());
  }
  for (const auto& s : settings()) {
    if (s.flag.empty() || !options.contains(s.flag)) continue;
    if (!row.keys) return usage(fmt::format("{} takes no --{}", row.name, s.flag));
    out.overrides.emplace_back(s.key, options[s.flag].as<std::string>());
  }
  if (!options.contains("set")) return {};
  for (const auto& text : options["set"].as<std::vector<std::string>>()) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return usage(fmt::format("--set: {}: expected section.key=value", printable(text)));
    }
    out.overrides.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return {};
}

Result<void> take_replay(const po::variables_map& options, const VerbRow& row, CommandLine& out) {
  ReplayArguments arguments;
  for (const auto& o : kReplayOptions) {
    const std::string name{o.name};
    if (!options.contains(name)) continue;
    if (row.verb != Verb::kPredict) return usage(fmt::format("{} takes no --{}", row.name, name));
    const auto& text = options[name].as<std::string>();
    if (text.empty()) return usage(fmt::format("--{}: expected {}", name, o.value));
    (o.text == nullptr ? out.replay_file : arguments.*o.text) = text;
  }
  if (row.verb != Verb::kPredict) return {};
  if (out.replay_file.empty()) return usage("predict: expected --replay FILE");
  const auto replay = replay_options(arguments);
  if (!replay) return usage(replay.error().context);
  out.replay = *replay;
  return {};
}

Result<void> take_query(const po::variables_map& options, const VerbRow& row, CommandLine& out) {
  std::vector<std::pair<std::string, std::string>> given;
  for (const auto& o : query_flags()) {
    const std::string name{o.name};
    if (!options.contains(name)) continue;
    if (row.verb != Verb::kQuery) return usage(fmt::format("{} takes no --{}", row.name, name));
    if (name == "label") {
      out.query.labels = options[name].as<std::vector<std::string>>();
    } else {
      given.emplace_back(name, options[name].as<std::string>());
    }
  }
  if (row.verb != Verb::kQuery) return {};
  const auto taken = take_query_flags(given, out.json, out.query);
  if (!taken) return usage(koordlet::printable(taken.error().context, 300));
  return {};
}

Result<void> take_simulation(const po::variables_map& options,
                             const VerbRow& row,
                             CommandLine& out) {
  const auto take = [&](const char* name, const char* value, std::string& text) -> Result<void> {
    if (!options.contains(name)) return {};
    if (row.verb != Verb::kSimulate) return usage(fmt::format("{} takes no --{}", row.name, name));
    text = options[name].as<std::string>();
    if (text.empty()) return usage(fmt::format("--{}: expected {}", name, value));
    return {};
  };
  std::string since;
  if (const auto ok = take("plot", "FILE", out.plot_file); !ok) return ok;
  if (const auto ok = take("from", "FILE or FOLDER", out.recording); !ok) return ok;
  if (const auto ok = take("since", "DURATION", since); !ok) return ok;
  if (since.empty()) return {};
  if (out.recording.empty()) return usage("--since: expected --from beside it");
  const auto ms = koordlet::parse_span_ms(since);
  if (!ms || *ms == 0) {
    return usage(fmt::format("--since: {}: expected a time like 30m or 2h", printable(since)));
  }
  out.since_ms = *ms;
  return {};
}

Result<void> take_proxy(const po::variables_map& options, const VerbRow& row, CommandLine& out) {
  std::string grace, patience;
  const std::pair<const char*, std::string*> all[] = {{"listen", &out.proxy.listen},
                                                      {"runtime", &out.proxy.runtime},
                                                      {"hooks", &out.proxy.hooks},
                                                      {"hook-timeout", &patience},
                                                      {"grace", &grace}};
  for (const auto& [name, text] : all) {
    if (!options.contains(name)) continue;
    if (row.verb != Verb::kCriProxy) return usage(fmt::format("{} takes no --{}", row.name, name));
    *text = options[name].as<std::string>();
  }
  if (row.verb != Verb::kCriProxy) return {};
  const auto take_span = [&](const char* name, const std::string& text, auto& to) -> Result<void> {
    if (!options.contains(name)) return {};
    const auto ms = koordlet::parse_span_ms(text);
    if (!ms) return usage(fmt::format("--{}: {}: expected a time like 5s", name, printable(text)));
    to = std::chrono::milliseconds{*ms};
    return {};
  };
  if (const auto ok = take_span("grace", grace, out.proxy.grace); !ok) return ok;
  if (const auto ok = take_span("hook-timeout", patience, out.proxy.hook_timeout); !ok) return ok;
  if (const auto ok = check(out.proxy); !ok) return usage(ok.error().context);
  return {};
}

Result<void> take_arguments(std::vector<std::string> words, const VerbRow& row, CommandLine& out) {
  if (words.size() < row.min_arguments) {
    return usage(fmt::format("{}: expected {}", row.name, row.arguments));
  }
  if (words.size() > row.max_arguments) {
    return usage(
        fmt::format("{}: unexpected argument '{}'", row.name, printable(words[row.max_arguments])));
  }
  if (row.verb == Verb::kSimulate && words.empty() == out.recording.empty()) {
    return usage(words.empty() ? "simulate: expected FILE"
                               : "simulate: expected FILE or --from, not both");
  }
  if (words.empty()) return {};
  if (row.verb == Verb::kCheckConfig) {
    if (!out.config_file.empty()) return usage("check-config: expected FILE or --config, not both");
    out.config_file = words.front();
  }
  if (row.verb == Verb::kQuery) out.query.metric = words.front();
  if (row.verb == Verb::kSimulate) {
    if (words.front().empty()) return usage("simulate: expected FILE");
    out.scenario_file = words.front();
  }
  if (row.verb == Verb::kExplain) {
    const auto& pod = words.front();
    const bool clean = std::all_of(pod.begin(), pod.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '-' || c == '.' || c == '/';
    });
    const bool shaped = !pod.empty() && pod.size() <= 512 && pod.front() != '/' &&
                        pod.back() != '/' && std::count(pod.begin(), pod.end(), '/') <= 1;
    if (!clean || !shaped || pod.starts_with(".")) {
      return usage(fmt::format("explain: {}: expected a uid or namespace/name", printable(pod)));
    }
    out.pod = pod;
  }
  return {};
}

}  // namespace

Result<CommandLine> parse_command_line(const std::vector<std::string>& args) {
  const auto options = parse(args);
  if (!options) return options.error();
  std::vector<std::string> words;
  if (options->contains("words")) words = (*options)["words"].as<std::vector<std::string>>();
  std::string name = words.empty() ? "run" : words.front();
  if ((*options)["help"].as<bool>()) name = "help";
  if ((*options)["version"].as<bool>()) name = "version";

  CommandLine out;
  const VerbRow* row = find_verb(name);
  if (row == nullptr) return usage(fmt::format("unknown command '{}'", printable(name)));
  out.verb = row->verb;
  if (out.verb == Verb::kHelp || out.verb == Verb::kVersion) return out;

  out.json = (*options)["json"].as<bool>();
  out.dry_run = (*options)["dry-run"].as<bool>();
  if (out.json && !row->json) return usage(fmt::format("{} takes no --json", name));
  if (out.dry_run && !row->dry_run) return usage(fmt::format("{} takes no --dry-run", name));
  if (options->contains("config")) {
    out.config_file = (*options)["config"].as<std::string>();
    if (out.config_file.empty()) return usage("--config: expected a file");
  }
  const auto overrides = take_overrides(*options, *row, out);
  if (!overrides) return overrides.error();
  const auto simulation = take_simulation(*options, *row, out);
  if (!simulation) return simulation.error();
  const auto proxy = take_proxy(*options, *row, out);
  if (!proxy) return proxy.error();
  const auto replay = take_replay(*options, *row, out);
  if (!replay) return replay.error();
  if (out.dry_run && out.verb != Verb::kRestore) {
    out.overrides.emplace_back("executor.dry_run", "true");
  }
  if (!words.empty()) words.erase(words.begin());
  const auto arguments = take_arguments(std::move(words), *row, out);
  if (!arguments) return arguments.error();
  const auto query = take_query(*options, *row, out);
  if (!query) return query.error();
  return out;
}

std::string help_text() {
  std::string out = "usage: koordlet [COMMAND] [OPTIONS]\n\ncommands:\n";
  for (const auto& row : kVerbs) {
    std::string left = fmt::format("{} {}", row.name, row.arguments);
    if (row.json) left += "[--json]";
    if (row.json && !row.arguments.empty())
      left = fmt::format("{} {} [--json]", row.name, row.arguments);
    if (row.verb == Verb::kRestore) left += "[--dry-run]";
    if (row.verb == Verb::kPredict) left = "predict --replay FILE";
    out += fmt::format("  {:<24} {}\n", left, row.about);
  }
  out += "\noptions of every command:\n";
  const auto line = [&out](std::string_view left, std::string_view about) {
    out += fmt::format("  {:<24} {}\n", left, about);
  };
  line("--config FILE",
       fmt::format("configuration, TOML (default {}, if it exists)", kDefaultConfigFile));
  line("--socket PATH", "stands for --set status.socket=PATH");
  line("--set SECTION.KEY=VALUE", "any key of the configuration; may be repeated");
  out += "\noptions of run and check-config:\n";
  line("--dry-run", "compute and show everything, write nothing");
  for (const auto& s : settings()) {
    if (!s.flag.empty()) line("--" + s.flag + " VALUE", s.about);
  }
  out += "\noptions of predict:\n";
  for (const auto& o : kReplayOptions) line(fmt::format("--{} {}", o.name, o.value), o.about);
  line("--json", "one JSON object instead of a table");
  out += "\noptions of simulate:\n";
  line("--plot FILE", "draw the run as SVG");
  line("--from FILE|FOLDER", "no scenario: what the flight recorder kept, decided again");
  line("--since DURATION", "of a recording, so much before its end");
  out += "\noptions of cri-proxy:\n";
  line("--listen PATH", fmt::format("socket for kubelet ({})", CriProxyOptions{}.listen));
  line("--runtime PATH", fmt::format("the runtime's ({})", CriProxyOptions{}.runtime));
  line("--hooks PATH",
       fmt::format("socket for the daemon ({}); \"\": none", CriProxyOptions{}.hooks));
  line("--hook-timeout DURATION", "for the daemon to answer, 10ms to 30s (2s)");
  line("--grace DURATION", "for calls that run when it is told to end (5s)");
  out += "\noptions of query:\n";
  for (const auto& o : query_flags()) line(fmt::format("--{} {}", o.name, o.value), o.about);
  out += "\nexit code: 0 ok, 1 failed, 2 usage\n";
  return out;
}

}  // namespace koordlet::app
