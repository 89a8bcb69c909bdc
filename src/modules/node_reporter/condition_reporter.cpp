#include "modules/node_reporter/condition_reporter.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "k8s/time_text.hpp"
#include "reactor/timer_fd.hpp"

namespace koordlet {
namespace {

namespace asio = boost::asio;
constexpr std::string_view kSubject = "node condition";

}  // namespace

boost::json::object condition_patch(
    bool high, std::string_view message, WallTime now, WallTime since, const ConditionText& text) {
  boost::json::object condition{{"type", text.type},
                                {"status", high ? "True" : "False"},
                                {"reason", high ? text.reason_true : text.reason_false},
                                {"message", message},
                                {"lastHeartbeatTime", k8s::format_time(now)},
                                {"lastTransitionTime", k8s::format_time(since)}};
  boost::json::array conditions;
  conditions.push_back(std::move(condition));
  return {{"status", boost::json::object{{"conditions", std::move(conditions)}}}};
}

struct ConditionReporter::Impl {
  asio::any_io_executor executor;
  const Config config;
  k8s::ApiCaller call;
  const Clock& clock;
  Status status;
  std::string message;
  WallTime since{};  ///< of the last change of `wanted`
  MonoTime due{};    ///< nothing is sent before
  MonoTime told_at{};
  std::chrono::seconds pause{0};

  bool is_due() const {
    const auto& s = status;
    if (!s.wanted || clock.now() < due) return false;
    if (s.told != s.wanted) return true;
    return *s.wanted && clock.now() - told_at >= config.heartbeat;
  }

  void failed(std::string problem, std::optional<std::chrono::seconds> retry_after) {
    ++status.failures;
    pause = pause.count() == 0 ? config.retry_first : std::min(2 * pause, config.retry_max);
    due = clock.now() + std::max(pause, std::min(retry_after.value_or(pause), config.retry_max));
    if (problem != status.problem) log::warn(kSubject, problem);
    status.problem = std::move(problem);
  }
};

ConditionReporter::ConditionReporter(asio::any_io_executor ex,
                                     Config config,
                                     k8s::ApiCaller call,
                                     const Clock& clock)
    : impl_{new Impl{std::move(ex), std::move(config), std::move(call), clock, {}, {}}} {}

ConditionReporter::~ConditionReporter() = default;

void ConditionReporter::want(bool high, std::string message) {
  auto& s = *impl_;
  if (s.status.wanted == high) return;
  s.status.wanted = high;
  s.message = std::move(message);
  s.since = s.clock.wall();
}

asio::awaitable<void> ConditionReporter::step() {
  auto& s = *impl_;
  if (!s.is_due()) co_return;
  const bool high = *s.status.wanted;
  k8s::ApiCall call;
  call.method = "PATCH";
  call.path = fmt::format("/api/v1/nodes/{}/status", k8s::escape(s.config.node_name));
  call.content_type = "application/strategic-merge-patch+json";
  call.body = condition_patch(high, s.message, s.clock.wall(), s.since, s.config.text);
  ++s.status.patches;
  const auto answer = co_await s.call(std::move(call));
  if (!answer) {
    s.failed(answer.error().context, std::nullopt);
    co_return;
  }
  if (!answer->ok()) {
    s.failed(answer->problem(), answer->retry_after);
    co_return;
  }
  if (s.status.told != high) {
    log::info(kSubject,
              fmt::format("{} is {}: {}", s.config.text.type, high ? "True" : "False", s.message));
  }
  s.status.told = high;
  s.status.problem.clear();
  s.told_at = s.clock.now();
  s.pause = std::chrono::seconds{0};
}

asio::awaitable<void> ConditionReporter::run() {
  reactor::TimerFd timer{impl_->executor, std::chrono::seconds{1}};
  for (;;) {
    co_await step();
    const auto ec = co_await timer.wait();
    if (ec) co_return;
  }
}

const ConditionReporter::Status& ConditionReporter::status() const { return impl_->status; }

}  // namespace koordlet
