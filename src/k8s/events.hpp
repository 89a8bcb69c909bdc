#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>

#include "base/clock.hpp"
#include "k8s/api_caller.hpp"

namespace koordlet::k8s {

/// The object that an Event is about.
struct EventSubject {
  std::string kind;         ///< "Pod", "Node"
  std::string api_version;  ///< "v1"
  std::string ns;           ///< "" for objects of the cluster: their events live in "default"
  std::string name;
  std::string uid;
  friend auto operator<=>(const EventSubject&, const EventSubject&) = default;
};
EventSubject pod_subject(std::string ns, std::string name, std::string uid);
/// With the name as uid, as kubelet does: `kubectl describe node` looks for that.
EventSubject node_subject(std::string name);

enum class EventType { kNormal, kWarning };

/// Writes core/v1 Events. record() only queues and never waits; run() sends, one at a time. The
/// same event again within 10 minutes raises the count of the one that exists. An object gets 25
/// events at once and then one each 5 minutes; a full queue, too many for one object, and an event
/// that the server refuses or that failed 5 times are dropped and counted. Loop thread only.
class EventRecorder {
 public:
  struct Config {
    std::string node_name;  ///< source.host
    std::string component = "koordlet";
    std::size_t queue = 256;   ///< events that wait
    std::size_t known = 1024;  ///< events and objects remembered
    std::chrono::seconds aggregate{600};
    int burst = 25;                    ///< events of one object
    std::chrono::seconds refill{300};  ///< for one more
    int tries = 5;
    std::chrono::milliseconds min_wait{1000}, max_wait{60'000};  ///< after a failure, doubling
  };
  struct Status {
    std::size_t waiting = 0;
    std::uint64_t recorded = 0;  ///< record() calls
    std::uint64_t created = 0, raised = 0;
    std::uint64_t dropped_full = 0, dropped_spam = 0, dropped_refused = 0, dropped_failed = 0;
    std::string problem;  ///< why the last one could not be sent; "" after a good one
  };
  static constexpr std::size_t kMaxMessage = 1024;
  static constexpr std::size_t kMaxReason = 128;

  /// `clock` and what `call` refers to must outlive the recorder.
  EventRecorder(boost::asio::any_io_executor ex, ApiCaller call, Config config, const Clock& clock);

  /// `reason`: one word in CamelCase, for machines. `message`: one line for people; numbers that
  /// change each time keep events from being joined. Both are cut and made printable.
  void record(EventSubject subject,
              EventType type,
              std::string_view reason,
              std::string_view message);
  /// Sends what is first in the queue. False: nothing was there, or it has to wait.
  boost::asio::awaitable<bool> step();
  boost::asio::awaitable<void> run();  ///< until cancelled; what waits then is lost
  const Status& status() const { return status_; }

 private:
  struct Key {
    EventSubject subject;
    EventType type = EventType::kNormal;
    std::string reason;
    std::string message;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Known {
    std::string object;  ///< metadata.name; "" until one was chosen
    bool exists = false;
    bool unsure = false;  ///< its create got no clear answer: it may have been made
    std::uint64_t count = 0;
    WallTime first;
    WallTime last;
    MonoTime seen;  ///< when it was recorded last
    bool queued = false;
    int tries = 0;
  };
  struct Bucket {
    double tokens = 0;
    MonoTime at;
  };

  bool spend(const EventSubject& subject);
  void forget();
  std::string new_name(const Key& key);
  ApiCall create_call(const Key& key, const Known& known) const;
  ApiCall raise_call(const Key& key, const Known& known) const;
  void settle(const Result<ApiAnswer>& answer, std::uint64_t count);
  void sent(std::uint64_t count);
  void failed(std::string problem, std::optional<std::chrono::seconds> asked);
  void give_up(std::uint64_t& counter);
  void pop();

  ApiCaller call_;
  Config config_;
  const Clock& clock_;
  std::map<Key, Known> known_;
  std::map<EventSubject, Bucket> buckets_;
  std::deque<Key> queue_;
  MonoTime not_before_{};
  std::chrono::milliseconds wait_{0};
  std::uint64_t serial_ = 0;
  boost::asio::steady_timer wake_;
  Status status_;
};

}  // namespace koordlet::k8s
