#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <boost/json/value.hpp>

#include "base/backoff.hpp"
#include "base/clock.hpp"
#include "k8s/applied_versions.hpp"
#include "k8s/reflector.hpp"
#include "k8s/refusal.hpp"

namespace koordlet::k8s {

/// The decisions of a Reflector, without I/O: next() says what to do, the other calls say what came
/// of it.
///
/// LIST goes without resourceVersion: consistent, and in pages on every server (with
/// resourceVersion=0 older ones ignore `limit` and send everything at once).
class ReflectorCore {
 public:
  struct Options {
    std::size_t page = 100;
    std::string field_selector;
    std::chrono::seconds watch_min{300}, watch_max{600};
    std::chrono::milliseconds backoff_min{500}, backoff_max{30'000};
    bool not_found_is_empty = false;
    std::uint64_t seed = 0;
  };
  /// A clean end sooner than this, again and again and without an event, is a fault.
  static constexpr std::chrono::seconds kQuickEnd{1};
  /// A longer Retry-After is cut to this: a wrong one must not silence the node.
  static constexpr std::chrono::seconds kMaxRetryAfter{300};
  static constexpr std::chrono::seconds kNotFoundRetry{30};
  static constexpr int kPageTries = 3;   ///< of one page; then the list starts anew
  static constexpr int kWatchTries = 5;  ///< spoilt from one version; then a LIST gets past it
  static constexpr int kDenied = 5;

  explicit ReflectorCore(Options options);

  enum class Action { kList, kWatch };
  struct Step {
    Action action;
    std::chrono::milliseconds delay;  ///< wait that long first
    std::string query;
  };
  Step next();

  /// What a page, or its failure, means for the objects that were staged so far.
  enum class PageEffect {
    kMore,     ///< they stay, another page follows
    kCommit,   ///< they are the list
    kKeep,     ///< they stay, the same page is asked for again
    kAbandon,  ///< forget them: the list starts anew
    kEmpty,    ///< forget them: the list is empty
  };
  void stage(const boost::json::value& object) { versions_.stage(object); }
  PageEffect page_read(const std::string& version, const std::string& continued, MonoTime now);
  PageEffect page_refused(const Refusal& refusal, MonoTime now);
  PageEffect page_failed(const std::string& why);  ///< network, not JSON, not a list
  PageEffect page_too_large(const std::string& why);

  void watch_opened(MonoTime now);
  void watch_failed(const std::string& why);  ///< never opened
  void watch_refused(const Refusal& refusal);
  enum class EventEffect { kNone, kAdded, kModified, kDeleted, kStop };
  /// One line of a watch. kStop: close it, the next step is decided (no watch_ended()).
  EventEffect event(const boost::json::value& line, MonoTime now);
  enum class End {
    kClean,    ///< the server closed it
    kBroken,   ///< the network did, or in the middle of a line
    kSilent,   ///< no byte for too long
    kNotJson,  ///< a line that is not JSON
    kLineTooLong,
  };
  void watch_ended(End end, const std::string& why, MonoTime now);

  const Reflector::Health& health() const { return health_; }
  std::size_t objects() const { return versions_.size(); }

 private:
  void fail(const std::string& why, const Refusal* refusal = nullptr);
  void answered(unsigned status);
  void good(MonoTime now);
  void restart_list();
  void expired(const std::string& why);
  void spoilt();
  void advance(std::string_view version);
  PageEffect page_lost();
  EventEffect error_event(const boost::json::value& object);
  EventEffect object_event(std::string_view type, const boost::json::value& object, MonoTime now);

  Options options_;
  Backoff backoff_;
  AppliedVersions versions_;
  Reflector::Health health_;
  Action action_ = Action::kList;
  std::chrono::milliseconds delay_{0};
  std::size_t page_;  ///< halved when a page is too large
  std::string continue_, list_version_;
  int page_failures_ = 0;
  int denials_ = 0;     ///< 401 and 403 in a row
  int expiries_ = 0;    ///< 410 since the last good watch
  int quick_ends_ = 0;  ///< in a row
  int spoilt_ = 0;      ///< watches that failed by their content since the last good one
  MonoTime opened_at_;
  bool was_good_ = false;  ///< the open watch brought something
};

}  // namespace koordlet::k8s
