#include "app/restore.hpp"

#include <chrono>
#include <filesystem>
#include <optional>

#include <boost/json/parse.hpp>
#include <fmt/format.h>

#include "app/json_path.hpp"
#include "app/text_table.hpp"
#include "app/unit_session.hpp"
#include "kernel/cgroup_fs.hpp"
#include "kernel/host.hpp"
#include "modules/resource_executor/resource_executor.hpp"
#include "store/journal.hpp"

namespace koordlet::app {
namespace {

namespace json = boost::json;

void fail(CommandOutput& out, std::string_view line) {
  out.exit_code = kExitFailed;
  out.err += fmt::format("koordlet: {}\n", line);
}

/// How one file ended; `ok` false: the file may still hold koordlet's value.
struct Line {
  std::string words;
  bool ok = true;
};
Line words_for(std::string_view kind, const std::string& value, const std::string& error) {
  if (kind == to_string(OutcomeKind::kWritten)) return {"restored to " + value};
  if (kind == to_string(OutcomeKind::kDryRun)) return {"would be restored to " + value};
  if (kind == to_string(OutcomeKind::kUnchanged)) return {"already " + value};
  if (kind == to_string(OutcomeKind::kGone)) return {"cgroup is gone"};
  return {fmt::format("NOT restored to {}: {}", value, error.empty() ? std::string{kind} : error),
          false};
}

/// Prints what a list of outcomes says.
class Report {
 public:
  explicit Report(CommandOutput& out) : out_{out} {}
  void add(std::string_view file, std::string_view kind, std::string value, std::string error) {
    const Line line = words_for(kind, terminal_text(value), terminal_text(error));
    ++files_;
    if (!line.ok) ++failed_;
    out_.out += fmt::format("{}: {}\n", terminal_text(file), line.words);
  }
  void finish() {
    if (files_ == 0) out_.out += "nothing to restore\n";
    if (failed_ > 0) fail(out_, fmt::format("{} of {} files not restored", failed_, files_));
  }

 private:
  CommandOutput& out_;
  int files_ = 0;
  int failed_ = 0;
};

CommandOutput daemon_restored(const net::HttpResponse& response) {
  CommandOutput out;
  json::error_code ec;
  const auto body = json::parse(response.body, ec);
  if (ec || response.status != 200) {
    fail(out,
         ec && response.status == 200 ? "the daemon's answer is not JSON" : problem_text(response));
    return out;
  }
  Report report{out};
  for (const auto& o : json_array(body, "outcomes")) {
    report.add(fmt::format("{} {}", json_text(o, "cgroup"), json_text(o, "file")),
               json_text(o, "kind"),
               json_text(o, "value"),
               json_text(o, "error", ""));
  }
  report.finish();
  return out;
}

/// A running daemon holds the journal: what it would put back stands in its list of held files.
CommandOutput daemon_would_restore(const Ask& ask) {
  CommandOutput out;
  const auto response = ask("GET", "/api/v1/executor");
  if (!response || response->status != 200) {
    fail(out, response ? problem_text(*response) : response.error().context);
    return out;
  }
  json::error_code ec;
  const auto body = json::parse(response->body, ec);
  if (ec) {
    fail(out, "the daemon's answer is not JSON");
    return out;
  }
  Report report{out};
  for (const auto& held : json_array(body, "held")) {
    report.add(fmt::format("{} {}", json_text(held, "cgroup"), json_text(held, "file")),
               to_string(OutcomeKind::kDryRun),
               json_text(held, "original"),
               "");
  }
  report.finish();
  return out;
}

constexpr std::chrono::milliseconds kSystemdAnswer{2'000};
constexpr std::chrono::milliseconds kSystemdTime{10'000};  // for all units

void restore_with(store::LmdbEnv& env, const Config& config, bool dry_run, CommandOutput& out) {
  if (!env.moved_aside().empty()) {
    fail(out,
         fmt::format("the journal was damaged and is now {}: the original values are not known; {}",
                     env.moved_aside(),
                     env.aside_reason()));
    return;
  }
  const auto version = kernel::detect_cgroup_version(config.host);
  const auto boot_id = kernel::read_boot_id(config.host);
  if (!version || !boot_id) {
    fail(out, version ? boot_id.error().context : version.error().context);
    return;
  }
  kernel::CgroupFs cgroups{config.host, *version};
  store::Journal journal{env};
  std::optional<UnitSession> units;
  if (!dry_run && UnitSession::wanted(config)) {
    units.emplace(config);
    if (const auto answers = units->connect(kSystemdAnswer); !answers) {
      out.err += fmt::format("koordlet: {}: systemd may put koordlet's values back\n",
                             answers.error().context);
      units.reset();
    }
  }
  const auto outcomes =
      restore_from_journal(cgroups, journal, *boot_id, dry_run, units ? &units->owner() : nullptr);
  if (!outcomes) {
    fail(out, outcomes.error().context);
    return;
  }
  Report report{out};
  for (const auto& o : *outcomes) {
    report.add(cgroups.file(o.key), to_string(o.kind), o.value, o.error);
  }
  report.finish();
  if (!units) return;
  if (const auto told = units->finish(kSystemdTime); !told) fail(out, told.error().context);
}

CommandOutput restore_here(const Config& config, bool dry_run) {
  CommandOutput out;
  const auto options = state_env_options(config);
  std::error_code ec;
  if (!std::filesystem::exists(options.folder, ec)) {
    if (ec) {
      fail(out, fmt::format("{}: {}", options.folder, ec.message()));
    } else {
      out.out = fmt::format("nothing to restore: no journal in {}\n", options.folder);
    }
    return out;
  }
  auto env = store::LmdbEnv::open(options);
  if (!env) {
    const bool locked = env.error().code == Errc::kBusy;
    fail(out,
         locked ? fmt::format("a koordlet holds {} but does not answer on {}: stop it first",
                              options.folder,
                              config.status.socket)
                : env.error().context);
    return out;
  }
  restore_with(*env, config, dry_run, out);
  return out;
}

}  // namespace

CommandOutput run_restore(const Config& config, bool dry_run, const Ask& ask) {
  if (config.status.socket.empty()) return restore_here(config, dry_run);
  const auto alive = ask("GET", "/api/v1/status");
  if (!alive) return restore_here(config, dry_run);
  if (dry_run) return daemon_would_restore(ask);
  const auto response = ask("POST", "/api/v1/restore");
  if (response) return daemon_restored(*response);
  CommandOutput out;
  fail(out, fmt::format("the daemon did not finish: {}", response.error().context));
  return out;
}

}  // namespace koordlet::app
