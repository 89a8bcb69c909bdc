#include "modules/evictor/evictor.hpp"

#include <utility>

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "reactor/task_group.hpp"

namespace koordlet {
namespace {

namespace asio = boost::asio;

// The names that Koordinator's own agent uses: alarms may look for them.
constexpr std::string_view kSuccess = "evictPodSuccess";
constexpr std::string_view kFailure = "evictPodFail";

bool is_problem(EvictionResult r) {
  return r == EvictionResult::kForbidden || r == EvictionResult::kFailed ||
         r == EvictionResult::kUnreachable;
}

k8s::EvictionAnswer answer_of(EvictionResult result, std::string detail) {
  k8s::EvictionAnswer out;
  out.result = result;
  out.detail = std::move(detail);
  return out;
}

}  // namespace

Evictor::Evictor(asio::any_io_executor ex,
                 k8s::ApiCaller call,
                 k8s::EventRecorder& events,
                 StillThere still_there,
                 const Clock& clock,
                 Config config)
    : client_{std::move(call)},
      events_{events},
      still_there_{std::move(still_there)},
      clock_{clock},
      config_{std::move(config)},
      wake_{ex, asio::steady_timer::time_point::max()} {}

void Evictor::submit(std::vector<EvictionWish> wishes) {
  waiting_.clear();
  for (auto& wish : wishes) {
    const bool under_way = status_.in_flight && status_.in_flight->uid == wish.uid;
    if (config_.enable && !under_way) waiting_.push_back(std::move(wish));
  }
  status_.waiting = waiting_.size();
  if (!waiting_.empty()) wake_.cancel();
}

std::vector<EvictionOutcome> Evictor::take_outcomes() { return std::exchange(outcomes_, {}); }

asio::awaitable<k8s::EvictionAnswer> Evictor::carry_out(EvictionWish wish) {
  // The pod may have left between the choice and now.
  if (!still_there_(wish.uid)) co_return answer_of(EvictionResult::kDropped, "the pod has left");
  if (config_.dry_run) co_return answer_of(EvictionResult::kDryRun, "dry run: nothing was sent");
  k8s::EvictionTarget target;
  target.ns = std::move(wish.ns);
  target.name = std::move(wish.name);
  target.uid = std::move(wish.uid);
  target.grace = config_.grace;
  auto answer = co_await client_.evict(std::move(target));
  co_return answer;
}

void Evictor::tell(const EvictionOutcome& outcome) {
  const EvictionWish& wish = outcome.wish;
  const auto say = [&](std::string_view reason, const std::string& message) {
    events_.record(
        k8s::pod_subject(wish.ns, wish.name, wish.uid), k8s::EventType::kWarning, reason, message);
  };
  switch (outcome.result) {
    case EvictionResult::kAccepted:
      say(kSuccess, fmt::format("koordlet evicts this pod ({}): {}", wish.plugin, wish.reason));
      return;
    case EvictionResult::kRefused:
    case EvictionResult::kForbidden:
    case EvictionResult::kFailed:
      // Without the numbers of the moment, so that the repeats are one event.
      say(kFailure,
          fmt::format("koordlet could not evict this pod ({}): {}", wish.plugin, outcome.detail));
      return;
    case EvictionResult::kGone:
    case EvictionResult::kNotSame:
    case EvictionResult::kUnreachable:
    case EvictionResult::kDropped:
    case EvictionResult::kDryRun:
      return;
  }
}

void Evictor::finish(EvictionWish wish, k8s::EvictionAnswer answer) {
  EvictionOutcome outcome;
  outcome.wish = std::move(wish);
  outcome.result = answer.result;
  outcome.detail = std::move(answer.detail);
  outcome.at = clock_.now();
  outcome.retry_after = answer.retry_after;
  ++status_.by_result[static_cast<std::size_t>(outcome.result)];
  ++status_.by_plugin[outcome.wish.plugin][static_cast<std::size_t>(outcome.result)];
  status_.problem = is_problem(outcome.result) ? fmt::format("{}/{}: {}: {}",
                                                             outcome.wish.ns,
                                                             outcome.wish.name,
                                                             to_string(outcome.result),
                                                             outcome.detail)
                                               : std::string{};
  tell(outcome);
  Record record;
  record.outcome = outcome;
  record.at = clock_.wall();
  status_.history.push_back(std::move(record));
  if (status_.history.size() > kHistory) status_.history.pop_front();
  outcomes_.push_back(std::move(outcome));
  // What waits was decided without knowing this outcome.
  waiting_.clear();
  status_.waiting = 0;
}

asio::awaitable<bool> Evictor::step() {
  if (status_.in_flight || waiting_.empty()) co_return false;
  EvictionWish wish = std::move(waiting_.front());
  waiting_.pop_front();
  status_.waiting = waiting_.size();
  status_.in_flight = wish;
  status_.in_flight_since = clock_.now();
  auto answer = co_await carry_out(wish);
  status_.in_flight.reset();
  status_.api_version = client_.version();
  finish(std::move(wish), std::move(answer));
  co_return true;
}

asio::awaitable<void> Evictor::run() {
  for (;;) {
    const bool done = co_await step();
    if (done) continue;
    wake_.expires_at(asio::steady_timer::time_point::max());
    const auto waited = co_await wake_.async_wait(reactor::use_ec);
    static_cast<void>(waited);  // submit() wakes it
    const auto state = co_await asio::this_coro::cancellation_state;
    if (reactor::is_stopped(state)) co_return;
  }
}

}  // namespace koordlet
