#include "app/record_replay.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "app/commands.hpp"
#include "app/scenario_file.hpp"
#include "app/simulation.hpp"
#include "modules/flight_recorder/states_codec.hpp"

namespace fs = std::filesystem;
using namespace koordlet;
using namespace koordlet::app;

namespace {

/// 20 % LS, then 70 %, then 90 % of the node with BE on top, then calm; one pod comes and goes.
const std::string kRun = R"(
duration = "3m"
[node]
cpu = 10
memory = "4GiB"
[qos.memory_evict]
enable = true
[[group]]
name = "web"
class = "LS"
request = 4.0
demand = { curve = "steps", steps = [["0s", 2.0], ["20s", 5.0], ["60s", 7.5], ["100s", 2.0]] }
[[group]]
name = "batch"
class = "BE"
count = 2
request = 2.0
demand = 2.0
memory = "1GiB"
memory_growth = "8MiB"
[[event]]
at = "40s"
group = "batch"
count = 3
)";

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "koordlet-replay-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path;
};

/// The daemon's recorder, fed by the simulated node. Returns its last state.
FlightRecorder::Status record(const std::string& folder, std::uint64_t size) {
  const auto reading = load_scenario_text(kRun, "run.toml", {});
  REQUIRE(reading.faults.empty());
  const auto loaded = load_config("", {{"qos.memory_evict.enable", "true"}});
  REQUIRE(loaded.ok());
  reactor::Worker storage{"storage"};
  FlightRecorder recorder{{true, folder, size, std::chrono::milliseconds{2000}},
                          {"run-1", "test", recorded_settings(loaded.loaded)},
                          storage};
  SimulationObserver observer;
  observer.before_step = [&](const QosManager& qos) {
    if (recorder.wants_states()) recorder.begin(qos.states());
  };
  observer.after_step = [&](const Snapshot& snap,
                            const QosManager& qos,
                            const policy::EvictInput& input,
                            const std::vector<EvictionWish>& wishes) {
    const auto& s = qos.status();
    FlightRecorder::Decisions d;
    d.desired = &qos.desired();
    d.level = s.pressure.level;
    d.factor_permille = s.pressure.factor_permille;
    d.below_exit = s.pressure.below_exit;
    d.root_cap = s.pressure.root_cap;
    d.stale = s.stale;
    d.evict = store::TickFrame::Evict{input.api_ok, input.outcomes, wishes};
    const auto since = snap.now.time_since_epoch();
    recorder.note(snap,
                  WallTime{std::chrono::seconds{1'700'000'000}} +
                      std::chrono::duration_cast<WallTime::duration>(since),
                  std::move(d));
    // A daemon has a second between two ticks.
    while (storage.queued() > 0 || storage.busy_for(std::chrono::steady_clock::now()).count() > 0) {
      std::this_thread::yield();
    }
  };
  static_cast<void>(simulate(reading.scenario, reading.config, {}, observer));
  recorder.flush();
  while (recorder.status().lag.count() > 0) std::this_thread::yield();
  return recorder.status();
}

}  // namespace

TEST_SUITE("app/record_replay") {
  TEST_CASE("with the same settings a replay decides the same, tick by tick") {
    const Folder folder;
    const auto status = record(folder.path, 16 << 20);
    CHECK(status.ticks == 180);
    CHECK(status.dropped == 0);
    CHECK(status.segments == 1);
    CHECK(status.fault.empty());
    const auto report = replay_recording(folder.path, {}, {});
    REQUIRE(report.has_value());
    CHECK(report->rows.size() == 180);
    CHECK(report->different == 0);
    if (report->first) {
      for (const auto& line : report->first->lines) MESSAGE(line);
    }
    // The scenario is worth a replay: it came to HIGH, and back.
    CHECK(std::any_of(report->rows.begin(), report->rows.end(), [](const RecordingRow& r) {
      return r.recorded.level == policy::Level::kHigh;
    }));
    CHECK(report->rows.back().recorded.level == policy::Level::kNone);
  }

  TEST_CASE("another threshold: the first tick that differs, and why") {
    const Folder folder;
    record(folder.path, 16 << 20);
    const auto report = replay_recording(folder.path, {{"qos.pressure.high_percent", "99"}}, {});
    REQUIRE(report.has_value());
    CHECK(report->different > 0);
    REQUIRE(report->first.has_value());
    REQUIRE_FALSE(report->first->lines.empty());
    CHECK(report->first->lines[0].starts_with("level: recorded HIGH, replayed MID: node use "));
    CommandLine command;
    command.verb = Verb::kSimulate;
    command.recording = folder.path;
    command.overrides = {{"qos.pressure.high_percent", "99"}};
    command.plot_file = folder.path + "/plot.svg";
    const auto text = run_command(command);
    CHECK(text.exit_code == kExitOk);
    CHECK(text.err.empty());
    CHECK(text.out.find("DIFFERS") != std::string::npos);
    CHECK(text.out.find("level: recorded HIGH, replayed MID") != std::string::npos);
    CHECK(fs::file_size(command.plot_file) > 1000);
    command.json = true;
    const auto body = boost::json::parse(run_command(command).out);
    CHECK(body.at("different").as_int64() == static_cast<std::int64_t>(report->different));
    CHECK(body.at("first_difference").at("lines").as_array().size() == report->first->lines.size());
  }

  TEST_CASE("a ring of many segments replays across them, and from the middle") {
    const Folder folder;
    const auto status = record(folder.path, 96 << 10);  // segments of 12 KiB
    CHECK(status.segments > 2);
    CHECK(status.dropped == 0);
    const auto all = replay_recording(folder.path, {}, {});
    REQUIRE(all.has_value());
    CHECK(all->different == 0);
    CHECK(all->gaps == 0);
    CHECK(all->segments == status.segments);
    const auto files = store::find_segments(folder.path);
    REQUIRE(files.has_value());
    // Each one alone, from its own states.
    for (const auto& file : *files) {
      const auto one = replay_recording(file, {}, {});
      REQUIRE(one.has_value());
      CHECK(one->different == 0);
    }
    const auto late = replay_recording(folder.path, {}, std::chrono::seconds{10});
    REQUIRE(late.has_value());
    CHECK(late->rows.size() == 11);
    CHECK(late->different == 0);
    fs::remove(files->at(1));
    const auto gap = replay_recording(folder.path, {}, {});
    REQUIRE(gap.has_value());
    CHECK(gap->gaps == (files->size() > 2 ? 1 : 0));
    CHECK(gap->different == 0);
  }

  TEST_CASE("what is no recording, or settings that do not fit: one line, exit 1") {
    const Folder folder;
    CommandLine command;
    command.verb = Verb::kSimulate;
    command.recording = folder.path + "/none";
    CHECK(run_command(command).exit_code == kExitFailed);
    std::ofstream{folder.path + "/recorder.000000"} << "duration = \"1m\"\n";
    command.recording = folder.path;
    const auto foreign = run_command(command);
    CHECK(foreign.exit_code == kExitFailed);
    CHECK(foreign.err.find("recorder.000000: line 1: expected 'koordlet-recording 1 ") !=
          std::string::npos);
    CHECK(std::count(foreign.err.begin(), foreign.err.end(), '\n') == 1);
    fs::remove(folder.path + "/recorder.000000");
    record(folder.path, 16 << 20);
    command.overrides = {{"qos.pressure.high_percent", "101"}};
    const auto refused = run_command(command);
    CHECK(refused.exit_code == kExitFailed);
    CHECK(refused.err.starts_with("command line: qos.pressure.high_percent: "));
    command.overrides = {{"store.folder", "/x"}};
    CHECK(run_command(command).err ==
          "command line: store.folder: \"/x\": expected a key of [qos]: a replay looks at no "
          "other\n");
    command.overrides = {{"qos.pressure.mid_percent", "5"}};  // not above the recorded exit margin
    CHECK(run_command(command).err.starts_with("command line: qos.pressure.exit_margin_percent: "));
  }

  TEST_CASE("times that run backwards, in a segment or from one to the next: the frame is named") {
    const auto frames_at = [](const std::vector<int>& seconds, std::uint64_t first) {
      store::WriteNames names;
      store::KeyFrame key;
      key.now = MonoTime{std::chrono::seconds{100}};
      key.run = "run-1";
      key.number = first;
      key.states = flight::encode_states({}, key.now);
      std::string out = store::segment_head(flight::recording_schema());
      store::append_frame(out, store::encode_frame(key, names));
      for (const int second : seconds) {
        store::TickFrame tick;
        tick.now = MonoTime{std::chrono::seconds{second}};
        tick.number = first++;
        store::append_frame(out, store::encode_frame(tick, names));
      }
      return out;
    };
    const Folder folder;
    CommandLine command;
    command.verb = Verb::kSimulate;
    command.recording = folder.path;
    const auto write = [&](const char* name, const std::string& text) {
      std::ofstream{folder.path + "/" + name, std::ios::binary} << text;
    };
    write("recorder.000000", frames_at({101, 102, 102}, 1));
    CHECK(run_command(command).exit_code == kExitOk);
    write("recorder.000000", frames_at({101, 103, 102}, 1));
    const auto within = run_command(command);
    CHECK(within.exit_code == kExitFailed);
    CHECK(within.err ==
          folder.path +
              "/recorder.000000: frame 4: time 102000 ms: expected at least 103000 ms, "
              "that of the tick before\n");
    write("recorder.000000", frames_at({101, 103}, 1));
    write("recorder.000001", frames_at({102, 104}, 3));
    const auto across = run_command(command);
    CHECK(across.err.starts_with(folder.path + "/recorder.000001: frame 2: time 102000 ms"));
  }

  TEST_CASE("a disk that takes nothing: ticks are dropped and counted, the daemon goes on") {
    const Folder folder;
    std::ofstream{folder.path + "/file"} << "x";
    reactor::Worker storage{"storage"};
    FlightRecorder recorder{{true, folder.path + "/file/r", 1 << 20, std::chrono::milliseconds{0}},
                            {"run-1", "test", {}},
                            storage};
    const DesiredTable none;
    for (int i = 0; i < 5; ++i) {
      if (recorder.wants_states()) recorder.begin({});
      Snapshot snap;
      snap.now = MonoTime{std::chrono::seconds{100 + i}};
      snap.state = std::make_shared<const NodeState>();
      FlightRecorder::Decisions d;
      d.desired = &none;
      recorder.note(snap, WallTime{std::chrono::seconds{100 + i}}, std::move(d));
    }
    while (recorder.status().dropped < 5) std::this_thread::yield();
    CHECK(recorder.status().ticks == 0);
    CHECK(recorder.status().fault.find("make the folder") != std::string::npos);
    CHECK_FALSE(recorder.wants_states());  // the next try is 30 s later
  }
}
