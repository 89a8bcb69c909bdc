#include "k8s/events.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/parse.hpp"
#include "k8s/paced_json.hpp"
#include "k8s/time_text.hpp"
#include "reactor/task_group.hpp"

namespace koordlet::k8s {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;

/// Room for "." and 16 hexadecimal digits in a name of 253.
constexpr std::size_t kMaxStem = 236;
constexpr std::size_t kDots = 3;  ///< that printable() puts behind what it cut

std::string cut(std::string_view text, std::size_t max) {
  return printable(text, text.size() <= max ? max : max - kDots);
}

std::string events_path(const EventSubject& subject) {
  const std::string_view ns = subject.ns.empty() ? std::string_view{"default"} : subject.ns;
  return fmt::format("/api/v1/namespaces/{}/events", escape(ns));
}

bool is_lasting(unsigned status) {
  return status >= 400 && status < 500 && status != 401 && status != 408 && status != 429;
}

}  // namespace

EventSubject pod_subject(std::string ns, std::string name, std::string uid) {
  EventSubject out;
  out.kind = "Pod";
  out.api_version = "v1";
  out.ns = std::move(ns);
  out.name = std::move(name);
  out.uid = std::move(uid);
  return out;
}

EventSubject node_subject(std::string name) {
  EventSubject out;
  out.kind = "Node";
  out.api_version = "v1";
  out.uid = name;
  out.name = std::move(name);
  return out;
}

EventRecorder::EventRecorder(asio::any_io_executor ex,
                             ApiCaller call,
                             Config config,
                             const Clock& clock)
    : call_{std::move(call)},
      config_{std::move(config)},
      clock_{clock},
      wake_{ex, asio::steady_timer::time_point::max()} {}

/// One token of the subject's bucket.
bool EventRecorder::spend(const EventSubject& subject) {
  const auto now = clock_.now();
  auto& bucket = buckets_.try_emplace(subject, Bucket{double(config_.burst), now}).first->second;
  const std::chrono::duration<double> passed = now - bucket.at;
  bucket.tokens = std::min(bucket.tokens + passed / std::chrono::duration<double>(config_.refill),
                           double(config_.burst));
  bucket.at = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

/// Makes room: first what can no longer be joined, then what was seen longest ago. What waits in
/// the queue stays.
void EventRecorder::forget() {
  const auto now = clock_.now();
  if (known_.size() >= config_.known) {
    std::erase_if(known_, [&](const auto& entry) {
      return !entry.second.queued && now - entry.second.seen >= config_.aggregate;
    });
  }
  if (known_.size() >= config_.known) {
    auto oldest = known_.end();
    for (auto it = known_.begin(); it != known_.end(); ++it) {
      if (it->second.queued) continue;
      if (oldest == known_.end() || it->second.seen < oldest->second.seen) oldest = it;
    }
    if (oldest != known_.end()) known_.erase(oldest);
  }
  if (buckets_.size() < config_.known) return;
  const auto full = config_.refill * config_.burst;  // a bucket that old is full again
  std::erase_if(buckets_, [&](const auto& entry) { return now - entry.second.at >= full; });
  if (buckets_.size() < config_.known) return;
  buckets_.erase(
      std::min_element(buckets_.begin(), buckets_.end(), [](const auto& a, const auto& b) {
        return a.second.at < b.second.at;
      }));
}

void EventRecorder::record(EventSubject subject,
                           EventType type,
                           std::string_view reason,
                           std::string_view message) {
  ++status_.recorded;
  Key key;
  key.subject = std::move(subject);
  key.type = type;
  key.reason = cut(reason, kMaxReason);
  key.message = cut(message, kMaxMessage);
  const auto now = clock_.now();
  auto it = known_.find(key);
  const bool joins =
      it != known_.end() && (it->second.queued || now - it->second.seen < config_.aggregate);
  if (joins) {
    // A raise that cannot be sent now goes with the next one.
    ++it->second.count;
    it->second.last = clock_.wall();
    it->second.seen = now;
    if (it->second.queued) return;
  }
  if (queue_.size() >= config_.queue) {
    ++status_.dropped_full;
    return;
  }
  if (!joins) forget();
  if (!spend(key.subject)) {
    ++status_.dropped_spam;
    return;
  }
  if (!joins) {
    Known fresh;
    fresh.count = 1;
    fresh.first = fresh.last = clock_.wall();
    fresh.seen = now;
    it = known_.insert_or_assign(key, std::move(fresh)).first;
  }
  it->second.queued = true;
  it->second.tries = 0;
  queue_.push_back(std::move(key));
  status_.waiting = queue_.size();
  wake_.cancel();
}

/// Unique within a namespace, as client-go makes them.
std::string EventRecorder::new_name(const Key& key) {
  std::string stem = key.subject.name.substr(0, kMaxStem);
  while (!stem.empty() && (stem.back() == '.' || stem.back() == '-')) stem.pop_back();
  const auto now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(clock_.wall().time_since_epoch());
  return fmt::format("{}.{:016x}", stem, static_cast<std::uint64_t>(now.count()) + ++serial_);
}

ApiCall EventRecorder::create_call(const Key& key, const Known& known) const {
  const EventSubject& subject = key.subject;
  json::object metadata;
  metadata["name"] = known.object;
  metadata["namespace"] = subject.ns.empty() ? "default" : subject.ns;
  json::object about;
  about["kind"] = subject.kind;
  about["apiVersion"] = subject.api_version;
  about["name"] = subject.name;
  if (!subject.ns.empty()) about["namespace"] = subject.ns;
  if (!subject.uid.empty()) about["uid"] = subject.uid;
  json::object source;
  source["component"] = config_.component;
  source["host"] = config_.node_name;
  json::object event;
  event["apiVersion"] = "v1";
  event["kind"] = "Event";
  event["metadata"] = std::move(metadata);
  event["involvedObject"] = std::move(about);
  event["type"] = key.type == EventType::kWarning ? "Warning" : "Normal";
  event["reason"] = key.reason;
  event["message"] = key.message;
  event["source"] = std::move(source);
  event["firstTimestamp"] = format_time(known.first);
  event["lastTimestamp"] = format_time(known.last);
  event["count"] = known.count;
  event["reportingComponent"] = config_.component;
  event["reportingInstance"] = config_.node_name;
  ApiCall call;
  call.method = "POST";
  call.path = events_path(subject);
  call.body = std::move(event);
  return call;
}

ApiCall EventRecorder::raise_call(const Key& key, const Known& known) const {
  json::object change;
  change["count"] = known.count;
  change["lastTimestamp"] = format_time(known.last);
  ApiCall call;
  call.method = "PATCH";
  call.path = fmt::format("{}/{}", events_path(key.subject), escape(known.object));
  call.content_type = "application/merge-patch+json";
  call.body = std::move(change);
  return call;
}

/// The first of the queue is done with.
void EventRecorder::pop() {
  known_.at(queue_.front()).queued = false;
  queue_.pop_front();
  status_.waiting = queue_.size();
}

void EventRecorder::give_up(std::uint64_t& counter) {
  ++counter;
  const Key key = queue_.front();
  pop();
  // One that does not exist has no count to raise.
  if (!known_.at(key).exists) known_.erase(key);
}

void EventRecorder::sent(std::uint64_t count) {
  Known& known = known_.at(queue_.front());
  ++(known.exists ? status_.raised : status_.created);
  known.exists = true;
  known.unsure = false;
  known.tries = 0;
  status_.problem.clear();
  wait_ = std::chrono::milliseconds{0};
  // Recorded again while this was on its way: its turn comes once more.
  if (known.count > count) {
    queue_.push_back(queue_.front());
    queue_.pop_front();
    return;
  }
  pop();
}

void EventRecorder::failed(std::string problem, std::optional<std::chrono::seconds> asked) {
  status_.problem = std::move(problem);
  wait_ = std::clamp<std::chrono::milliseconds>(wait_ * 2, config_.min_wait, config_.max_wait);
  if (asked) wait_ = std::clamp<std::chrono::milliseconds>(*asked, wait_, config_.max_wait);
  not_before_ = clock_.now() + wait_;
  if (++known_.at(queue_.front()).tries >= config_.tries) give_up(status_.dropped_failed);
}

void EventRecorder::settle(const Result<ApiAnswer>& answer, std::uint64_t count) {
  Known& known = known_.at(queue_.front());
  if (!answer) {
    known.unsure = true;
    return failed(answer.error().context, std::nullopt);
  }
  const bool made_before = answer->status == 409 && !known.exists && known.unsure;
  if (answer->ok() || made_before) return sent(count);
  known.unsure = answer->status >= 500;
  if (known.exists && answer->status == 404) {  // it has expired on the server
    known.exists = false;
    known.object.clear();
    return;
  }
  if (answer->status == 409 && !known.exists) known.object.clear();  // the name is taken
  if (is_lasting(answer->status) && answer->status != 409) {
    status_.problem = answer->problem();
    return give_up(status_.dropped_refused);
  }
  failed(answer->problem(), answer->retry_after);
}

asio::awaitable<bool> EventRecorder::step() {
  if (queue_.empty() || clock_.now() < not_before_) co_return false;
  const Key key = queue_.front();
  Known& known = known_.at(key);  // stays: queued ones are never forgotten
  if (known.object.empty()) known.object = new_name(key);
  const auto count = known.count;
  ApiCall call = known.exists ? raise_call(key, known) : create_call(key, known);
  const auto answer = co_await call_(std::move(call));
  settle(answer, count);
  co_return true;
}

asio::awaitable<void> EventRecorder::run() {
  for (;;) {
    const bool more = co_await step();
    if (more) continue;
    if (queue_.empty()) {
      wake_.expires_at(asio::steady_timer::time_point::max());
    } else {
      wake_.expires_after(not_before_ - clock_.now());
    }
    const auto waited = co_await wake_.async_wait(reactor::use_ec);
    static_cast<void>(waited);  // woken or due: both lead to a look at the queue
    const auto state = co_await asio::this_coro::cancellation_state;
    if (reactor::is_stopped(state)) co_return;
  }
}

}  // namespace koordlet::k8s
