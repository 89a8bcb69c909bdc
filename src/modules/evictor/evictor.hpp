#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.hpp"
#include "k8s/events.hpp"
#include "k8s/eviction.hpp"
#include "model/eviction.hpp"

namespace koordlet {

/// Carries out eviction wishes through the API server, one at a time. Never by any other way: what
/// the server refuses stays alive. Loop thread only.
///
/// Each tick: plugins get take_outcomes(), decide, and submit() gets all their wishes. Wishes that
/// wait are replaced each time, so that a need that has passed is not acted on; what was decided
/// before an outcome was known is dropped with it.
class Evictor {
 public:
  struct Config {
    bool enable = true;  ///< false: wishes are ignored
    bool dry_run = false;
    std::optional<std::chrono::seconds> grace;  ///< not set: the pod's own
  };
  struct Record {
    EvictionOutcome outcome;
    WallTime at;
  };
  struct Status {
    std::optional<EvictionWish> in_flight;
    MonoTime in_flight_since{};
    std::size_t waiting = 0;
    std::string api_version;                                  ///< "" before the first eviction
    std::array<std::uint64_t, kEvictionResults> by_result{};  ///< index: EvictionResult
    std::map<std::string, std::array<std::uint64_t, kEvictionResults>> by_plugin;
    std::deque<Record> history;  ///< newest last, at most kHistory
    std::string problem;         ///< the last answer that was no plain yes or no; "" otherwise
    std::uint64_t count(EvictionResult r) const { return by_result[static_cast<std::size_t>(r)]; }
  };
  static constexpr std::size_t kHistory = 50;
  /// True while the pod is there, active and not terminating.
  using StillThere = std::function<bool(std::string_view uid)>;

  /// `events`, `clock` and what `call` and `still_there` refer to must outlive the evictor.
  Evictor(boost::asio::any_io_executor ex,
          k8s::ApiCaller call,
          k8s::EventRecorder& events,
          StillThere still_there,
          const Clock& clock,
          Config config);

  void submit(std::vector<EvictionWish> wishes);
  /// Since the last call, each exactly once; at most one of them per submit().
  std::vector<EvictionOutcome> take_outcomes();
  /// Carries out the first wish. False: there was none.
  boost::asio::awaitable<bool> step();
  boost::asio::awaitable<void> run();  ///< until cancelled
  const Status& status() const { return status_; }

 private:
  boost::asio::awaitable<k8s::EvictionAnswer> carry_out(EvictionWish wish);
  void finish(EvictionWish wish, k8s::EvictionAnswer answer);
  void tell(const EvictionOutcome& outcome);

  k8s::EvictionClient client_;
  k8s::EventRecorder& events_;
  StillThere still_there_;
  const Clock& clock_;
  Config config_;
  std::deque<EvictionWish> waiting_;
  std::vector<EvictionOutcome> outcomes_;
  boost::asio::steady_timer wake_;
  Status status_;
};

}  // namespace koordlet
