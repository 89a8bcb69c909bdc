#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

#include "base/clock.hpp"
#include "k8s/api_caller.hpp"

namespace koordlet {

/// How a condition of the Node reads.
struct ConditionText {
  std::string type = "KoordletHighPressure";
  std::string reason_true = "BestEffortHeldBack";
  std::string reason_false = "PressureIsLow";
};

/// One condition of the Node: "best effort is held back here for long, send none", or another that
/// `text` names. Told by a strategic merge patch of nodes/status, which leaves kubelet's conditions
/// alone. Sent when it changes, again each `heartbeat` while it is true, and after a failure with a
/// growing pause. Loop thread only.
class ConditionReporter {
 public:
  struct Config {
    std::string node_name;  ///< not empty
    std::chrono::seconds heartbeat{300};
    std::chrono::seconds retry_first{5};  ///< doubled up to retry_max
    std::chrono::seconds retry_max{300};
    ConditionText text{};
  };
  struct Status {
    std::optional<bool> wanted, told;  ///< told: the server took it
    std::string problem;               ///< why the last patch failed; "" after a good one
    std::uint64_t patches = 0, failures = 0;
  };
  /// `clock` and what `call` refers to outlive the reporter.
  ConditionReporter(boost::asio::any_io_executor ex,
                    Config config,
                    k8s::ApiCaller call,
                    const Clock& clock);
  ~ConditionReporter();

  /// What holds now, with one line that says why. The next step tells it.
  void want(bool high, std::string message);
  boost::asio::awaitable<void> step();  ///< sends what is due
  boost::asio::awaitable<void> run();   ///< a step each second, until cancelled
  const Status& status() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// {"status": {"conditions": [...]}}; `since`: of the last change.
boost::json::object condition_patch(bool high,
                                    std::string_view message,
                                    WallTime now,
                                    WallTime since,
                                    const ConditionText& text = {});

}  // namespace koordlet
