#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "modules/node_reporter/recent.hpp"
#include "modules/node_reporter/report_build.hpp"
#include "modules/node_reporter/status_writer.hpp"

namespace koordlet {

/// Sends what the node uses to the cluster: the status of NodeMetric, each interval and at once
/// when asked. A report is as old as its data; without fresh node data nothing is sent, so that
/// consumers see the age. Loop thread only.
class NodeReporter {
 public:
  struct Config {
    std::string node_name;                         ///< also the object's name; not empty
    std::optional<std::chrono::seconds> interval;  ///< set: wins over the spec; 10 s at least
    std::chrono::milliseconds node_limit{3000};    ///< age of the newest node sample
    bool create = true;                            ///< make the object when it is absent
  };
  struct Deps {
    /// The metrics of report_questions(state) and the state they were asked for.
    std::function<boost::asio::awaitable<Result<ReportInput>>()> gather;
    k8s::ApiCaller call;
  };
  struct Status {
    bool running = false;
    bool in_flight = false;
    std::chrono::seconds interval{60};
    std::optional<MonoTime> next;          ///< nullopt until run() has started
    std::optional<MonoTime> last_success;  ///< when the server had taken it
    std::optional<WallTime> last_update_time;
    std::string problem;  ///< why the last round sent nothing or failed; "" after a good one
    MonoTime problem_since{};
    std::vector<std::string> health;  ///< what the last report lacked
    std::optional<MonoTime> held_until;
    std::string no_patch;  ///< why PUT is used; "" while patches work
    std::uint64_t reports = 0;
    std::uint64_t unsent = 0;    ///< rounds without fresh data
    std::uint64_t failures = 0;  ///< rounds that the server or the way to it failed
    std::uint64_t urgent = 0;    ///< report_now() calls
    StatusWriter::Counts writes;
    Recent::Percentiles took;  ///< start of the round to the 2xx answer
    Recent::Percentiles age;   ///< now - updateTime at that moment
  };

  /// `clock` and what `deps` refer to outlive the reporter.
  NodeReporter(boost::asio::any_io_executor ex, Config config, Deps deps, const Clock& clock);
  ~NodeReporter();

  /// The spec may have changed: a new interval applies at once, counted from the last report.
  void note_state(const NodeState& state);
  /// For level HIGH: a report as soon as possible, at most one of this kind in 10 s.
  void report_now();
  /// What is due now, if anything: at most one report. True: a round was made. Called by run(); one
  /// call at a time.
  boost::asio::awaitable<bool> step();
  boost::asio::awaitable<void> run();  ///< until cancelled
  /// Starts the schedule: the first report is due one interval from now. Called by run().
  void start();
  MonoTime next_due() const;
  Status status() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet
