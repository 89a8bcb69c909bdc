#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/clock.hpp"
#include "model/node_state.hpp"
#include "model/proposal.hpp"
#include "model/snapshot.hpp"
#include "modules/status_api/metric_source.hpp"
#include "modules/status_api/status_view.hpp"

namespace koordlet {

/// Local REST: answers from a StatusView that the daemon fills on demand. Loopback TCP and a 0600
/// unix socket, and a separate listener for /metrics, /healthz and /readyz.
class StatusApi {
 public:
  struct Config {
    std::string socket = "/run/koordlet/koordlet.sock";  ///< empty: none
    std::string listen = "127.0.0.1:6060";          ///< empty: none; loopback only in this version
    std::string metrics_listen = "127.0.0.1:9316";  ///< empty: none
  };
  /// `view` is called on the loop for each request that needs it. `restore` runs the daemon's
  /// restore and returns the outcomes (POST /api/v1/restore, unix socket only).
  using ViewSource = std::function<StatusView()>;
  using Restore = std::function<std::vector<Outcome>()>;
  /// `metrics` answers the questions about history and outlives the API; nullptr: none is kept.
  StatusApi(boost::asio::any_io_executor ex,
            Config config,
            ViewSource view,
            Restore restore,
            MetricSource* metrics = nullptr);
  ~StatusApi();
  /// Binds all listeners; an address in use is an error that names it.
  Result<void> open();
  boost::asio::awaitable<void> run();  ///< until cancelled
  std::string listen_address() const;  ///< actual "127.0.0.1:port" (port 0 in the config picks one)
  std::string metrics_address() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet
