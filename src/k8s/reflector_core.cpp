#include "k8s/reflector_core.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "k8s/paced_json.hpp"

namespace koordlet::k8s {
namespace {

/// The server may do the same request later; anything else about the request is wrong for good.
bool is_passing(unsigned status) {
  return status == 401 || status == 403 || status == 408 || status == 429 || status >= 500;
}

}  // namespace

ReflectorCore::ReflectorCore(Options options)
    : options_{std::move(options)},
      backoff_{options_.backoff_min, options_.backoff_max, options_.seed},
      page_{std::max<std::size_t>(options_.page, 1)} {}

ReflectorCore::Step ReflectorCore::next() {
  Step step{action_, std::exchange(delay_, std::chrono::milliseconds{0}), {}};
  if (action_ == Action::kList) {
    step.query = fmt::format("limit={}", page_);
    if (!continue_.empty()) step.query += "&continue=" + escape(continue_);
  } else {
    const auto timeout = backoff_.between(options_.watch_min.count(), options_.watch_max.count());
    step.query =
        fmt::format("watch=1&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}",
                    escape(health_.resource_version),
                    timeout);
  }
  if (!options_.field_selector.empty()) {
    step.query += "&fieldSelector=" + escape(options_.field_selector);
  }
  return step;
}

void ReflectorCore::fail(const std::string& why, const Refusal* refusal) {
  ++health_.failures;
  health_.fault = why;
  delay_ = backoff_.next();
  if (refusal != nullptr && refusal->retry_after) {
    delay_ += std::min<std::chrono::milliseconds>(*refusal->retry_after, kMaxRetryAfter);
  }
}

void ReflectorCore::answered(unsigned status) {
  denials_ = status == 401 || status == 403 ? denials_ + 1 : 0;
  health_.denied = denials_ >= kDenied;
}

/// What is known is current, and the way there works.
void ReflectorCore::good(MonoTime now) {
  health_.failures = 0;
  health_.confirmed_at = now;
  backoff_.reset();
  expiries_ = quick_ends_ = spoilt_ = 0;
  was_good_ = true;
}

void ReflectorCore::restart_list() {
  action_ = Action::kList;
  continue_.clear();
  list_version_.clear();
  page_failures_ = 0;
  versions_.abandon();
}

/// The first time at once: a long break makes versions expire, and that is no fault.
void ReflectorCore::expired(const std::string& why) {
  ++health_.relists_410;
  restart_list();
  if (++expiries_ > 1) {
    fail(why);
    return;
  }
  health_.fault = why;
  delay_ = std::chrono::milliseconds{0};
}

/// An event that cannot be got over would be sent again for ever from the same version.
void ReflectorCore::spoilt() {
  if (++spoilt_ < kWatchTries) return;
  spoilt_ = 0;
  restart_list();
}

void ReflectorCore::advance(std::string_view version) {
  if (version.empty()) return;
  const auto last = numeric_version(health_.resource_version);
  const auto next = numeric_version(version);
  if (last && next && *next < *last) return;
  health_.resource_version = version;
}

ReflectorCore::PageEffect ReflectorCore::page_lost() {
  if (!continue_.empty() && ++page_failures_ < kPageTries) return PageEffect::kKeep;
  restart_list();
  return PageEffect::kAbandon;
}

ReflectorCore::PageEffect ReflectorCore::page_read(const std::string& version,
                                                   const std::string& continued,
                                                   MonoTime now) {
  answered(200);
  if (version.empty()) return page_failed("list: no resourceVersion");
  if (!continued.empty() && continued == continue_) {
    fail("list: the same continue token again");
    restart_list();
    return PageEffect::kAbandon;
  }
  if (list_version_.empty()) list_version_ = version;
  page_failures_ = 0;
  continue_ = continued;
  if (!continue_.empty()) return PageEffect::kMore;
  ++health_.lists;
  health_.synced = true;
  health_.confirmed_at = now;
  health_.fault.clear();
  health_.resource_version = std::exchange(list_version_, {});
  versions_.commit();
  action_ = Action::kWatch;
  return PageEffect::kCommit;
}

ReflectorCore::PageEffect ReflectorCore::page_refused(const Refusal& refusal, MonoTime now) {
  answered(refusal.status);
  const auto why = "list: " + refusal.text;
  if (refusal.expired) {
    expired(why);
    return PageEffect::kAbandon;
  }
  if (refusal.status == 404 && options_.not_found_is_empty) {
    restart_list();
    versions_.commit();
    health_.synced = true;
    good(now);
    health_.fault = why + ": counts as empty";
    health_.resource_version.clear();
    delay_ = kNotFoundRetry;
    return PageEffect::kEmpty;
  }
  fail(why, &refusal);
  if (is_passing(refusal.status) && !refusal.version_too_large) return page_lost();
  restart_list();
  return PageEffect::kAbandon;
}

ReflectorCore::PageEffect ReflectorCore::page_failed(const std::string& why) {
  fail(why);
  return page_lost();
}

ReflectorCore::PageEffect ReflectorCore::page_too_large(const std::string& why) {
  fail(why);
  page_ = std::max<std::size_t>(page_ / 2, 1);
  restart_list();
  return PageEffect::kAbandon;
}

void ReflectorCore::watch_opened(MonoTime now) {
  answered(200);
  ++health_.watches;
  health_.fault.clear();
  health_.confirmed_at = now;
  opened_at_ = now;
  was_good_ = false;
}

void ReflectorCore::watch_failed(const std::string& why) { fail(why); }

void ReflectorCore::watch_refused(const Refusal& refusal) {
  answered(refusal.status);
  const auto why = "watch: " + refusal.text;
  if (refusal.expired) {
    expired(why);
    return;
  }
  fail(why, &refusal);
  if (refusal.version_too_large || refusal.status == 404) {
    restart_list();  // of 404: LIST decides whether the resource is gone
  } else if (!is_passing(refusal.status)) {
    spoilt();
  }
}

ReflectorCore::EventEffect ReflectorCore::error_event(const boost::json::value& object) {
  const auto refusal = read_refusal(0, object, std::nullopt);
  const auto why = "watch: ERROR event: " + refusal.text;
  if (refusal.expired) {
    expired(why);
  } else {
    fail(why, &refusal);
    if (refusal.version_too_large) {
      restart_list();
    } else {
      spoilt();
    }
  }
  return EventEffect::kStop;
}

ReflectorCore::EventEffect ReflectorCore::object_event(std::string_view type,
                                                       const boost::json::value& object,
                                                       MonoTime now) {
  const bool deleted = type == "DELETED";
  const auto verdict = deleted ? versions_.remove(object) : versions_.update(object);
  if (verdict == AppliedVersions::Verdict::kNoName) {
    ++health_.bad_events;
    return EventEffect::kNone;
  }
  good(now);
  advance(metadata_text(object, "resourceVersion"));
  if (verdict != AppliedVersions::Verdict::kApply) return EventEffect::kNone;
  ++health_.events;
  if (deleted) return EventEffect::kDeleted;
  return type == "ADDED" ? EventEffect::kAdded : EventEffect::kModified;
}

ReflectorCore::EventEffect ReflectorCore::event(const boost::json::value& line, MonoTime now) {
  const auto* members = line.if_object();
  const auto* type_value = members != nullptr ? members->if_contains("type") : nullptr;
  const auto* object = members != nullptr ? members->if_contains("object") : nullptr;
  if (type_value == nullptr || !type_value->is_string() || object == nullptr ||
      !object->is_object()) {
    ++health_.bad_events;
    return EventEffect::kNone;
  }
  const std::string_view type = type_value->get_string();
  if (type == "ERROR") return error_event(*object);
  if (type == "ADDED" || type == "MODIFIED" || type == "DELETED") {
    return object_event(type, *object, now);
  }
  const auto version = metadata_text(*object, "resourceVersion");
  if (type != "BOOKMARK" || version.empty()) {
    ++health_.bad_events;
    return EventEffect::kNone;
  }
  ++health_.bookmarks;
  advance(version);
  good(now);
  return EventEffect::kNone;
}

void ReflectorCore::watch_ended(End end, const std::string& why, MonoTime now) {
  const auto lasted = now - opened_at_;
  // A watch that held longer than any back-off ends a row of failures, even without an event.
  if (lasted >= options_.backoff_max) backoff_.reset();
  switch (end) {
    case End::kClean:
      if (was_good_ || lasted >= kQuickEnd) {
        good(now);
      } else if (++quick_ends_ > 1) {
        fail("watch: ends at once");
      }
      return;
    case End::kSilent:
      // The silence was wait enough.
      ++health_.failures;
      health_.fault = why;
      return;
    case End::kBroken:
      fail(why);
      return;
    case End::kNotJson:
      fail(why);
      spoilt();
      return;
    case End::kLineTooLong:
      ++health_.bad_events;
      fail(why);
      restart_list();
      return;
  }
}

}  // namespace koordlet::k8s
