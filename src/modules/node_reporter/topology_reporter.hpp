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
#include "k8s/api_caller.hpp"
#include "modules/node_reporter/topology_build.hpp"

namespace koordlet {

/// Keeps the node's NodeResourceTopology object true: looks at the inputs each interval, talks to
/// the server only when they changed (and each `verify` for what others did to the object), writes
/// only what differs in meaning. Loop thread only.
class TopologyReporter {
 public:
  struct Config {
    std::string node_name;  ///< also the object's name; not empty
    std::chrono::seconds interval{60};
    std::chrono::seconds verify{600};  ///< also the pause while the CRD is not installed
  };
  struct Deps {
    std::function<boost::asio::awaitable<Result<TopologyInput>>()> gather;
    k8s::ApiCaller call;
  };
  struct Status {
    std::string problem;                   ///< "" after a good round
    bool installed = true;                 ///< false: the server does not know the resource
    std::optional<MonoTime> confirmed_at;  ///< the object was last known to be as wanted
    std::uint64_t rounds = 0, reads = 0, writes = 0, created = 0, conflicts = 0, failures = 0;
  };
  /// `clock` and what `deps` refer to outlive the reporter.
  TopologyReporter(boost::asio::any_io_executor ex, Config config, Deps deps, const Clock& clock);
  ~TopologyReporter();

  boost::asio::awaitable<void> step();  ///< one round
  boost::asio::awaitable<void> run();   ///< a round now and each interval, until cancelled
  const Status& status() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet
