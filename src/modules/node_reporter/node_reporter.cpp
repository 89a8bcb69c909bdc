#include "modules/node_reporter/node_reporter.hpp"

#include <algorithm>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/log.hpp"
#include "base/scoped_flag.hpp"
#include "k8s/node_metric.hpp"
#include "modules/node_reporter/report_schedule.hpp"
#include "reactor/task_group.hpp"

namespace koordlet {
namespace {

namespace asio = boost::asio;
using reactor::use_ec;
using std::chrono::milliseconds;

constexpr std::string_view kSubject = "node_reporter";
// A server may ask for any time; an hour without a report would lose the node for its consumers.
constexpr std::chrono::seconds kMaxHold{600};

}  // namespace

struct NodeReporter::Impl {
  Impl(asio::any_io_executor ex, Config c, Deps d, const Clock& k)
      : config{std::move(c)},
        gather{std::move(d.gather)},
        clock{k},
        writer{config.node_name, config.create, std::move(d.call), k},
        wake{std::move(ex)} {}

  const Config config;
  std::function<asio::awaitable<Result<ReportInput>>()> gather;
  const Clock& clock;
  StatusWriter writer;
  asio::steady_timer wake;
  ReportSchedule schedule;
  std::shared_ptr<const NodeMetricSpec> spec;
  Status status;
  Recent took, age;
  bool started = false;

  void use_spec(const NodeState& state);
  asio::awaitable<void> round();
  void succeeded(const NodeReport& report, MonoTime began);
  void not_sent(std::string why, std::uint64_t& counter);
};

void NodeReporter::Impl::use_spec(const NodeState& state) {
  spec = state.metric;
  schedule.set_interval(report_interval(config.interval, spec.get()));
}

void NodeReporter::Impl::not_sent(std::string why, std::uint64_t& counter) {
  ++counter;
  if (status.problem.empty()) {  // once for a row of bad rounds: ages in the text change
    status.problem_since = clock.now();
    log::warn(kSubject, "no report: " + why);
  }
  status.problem = std::move(why);
}

void NodeReporter::Impl::succeeded(const NodeReport& report, MonoTime began) {
  const auto now = clock.now();
  if (!status.problem.empty()) log::info(kSubject, "reports again, after: " + status.problem);
  status.problem.clear();
  status.health = report.health;
  status.last_success = now;
  status.last_update_time = std::chrono::floor<std::chrono::seconds>(report.collected_at);
  ++status.reports;
  took.add(std::chrono::duration_cast<milliseconds>(now - began));
  age.add(std::chrono::duration_cast<milliseconds>(clock.wall() - *status.last_update_time));
}

asio::awaitable<void> NodeReporter::Impl::round() {
  const ScopedFlag in_flight{status.in_flight};
  const auto began = clock.now();
  auto input = co_await gather();
  if (!input) {
    not_sent("metrics: " + input.error().context, status.unsent);
    co_return;
  }
  use_spec(*input->state);
  const auto built = build_report(*input, config.node_limit);
  if (const auto* why = std::get_if<std::string>(&built)) {
    not_sent(*why, status.unsent);
    co_return;
  }
  const auto& report = std::get<NodeReport>(built);
  auto body = k8s::encode_node_metric_status(report);
  const auto result = co_await writer.write(std::move(body), input->node_uid);
  if (result.ok) {
    succeeded(report, began);
    co_return;
  }
  if (result.later) {
    const auto asked = result.retry_after.value_or(std::chrono::seconds{0});
    schedule.hold_until(clock.now() + std::clamp(asked, std::chrono::seconds{0}, kMaxHold));
  }
  not_sent(result.problem, status.failures);
}

NodeReporter::NodeReporter(asio::any_io_executor ex, Config config, Deps deps, const Clock& clock)
    : impl_{std::make_unique<Impl>(std::move(ex), std::move(config), std::move(deps), clock)} {}

NodeReporter::~NodeReporter() = default;

void NodeReporter::note_state(const NodeState& state) {
  impl_->use_spec(state);
  impl_->wake.cancel();
}

void NodeReporter::report_now() {
  ++impl_->status.urgent;
  impl_->schedule.ask_urgent();
  impl_->wake.cancel();
}

void NodeReporter::start() {
  auto& s = *impl_;
  s.schedule.start(s.clock.now(), report_interval(s.config.interval, s.spec.get()));
  s.started = true;
}

MonoTime NodeReporter::next_due() const { return impl_->schedule.next(); }

asio::awaitable<bool> NodeReporter::step() {
  auto& s = *impl_;
  if (!s.schedule.take(s.clock.now())) co_return false;
  co_await s.round();
  co_return true;
}

asio::awaitable<void> NodeReporter::run() {
  auto& s = *impl_;
  start();
  const ScopedFlag running{s.status.running};
  for (;;) {
    const auto made = co_await step();
    if (!made) {
      // From now on the distance counts, not the clock's origin: it may be a test's.
      s.wake.expires_after(std::max<MonoTime::duration>(next_due() - s.clock.now(), {}));
      co_await s.wake.async_wait(use_ec);
    }
    const auto state = co_await asio::this_coro::cancellation_state;
    if (reactor::is_stopped(state)) co_return;
  }
}

NodeReporter::Status NodeReporter::status() const {
  const auto& s = *impl_;
  auto out = s.status;
  out.interval = s.schedule.interval();
  if (s.started) out.next = s.schedule.next();
  if (s.schedule.held_until() > s.clock.now()) out.held_until = s.schedule.held_until();
  out.no_patch = s.writer.no_patch();
  out.writes = s.writer.counts();
  out.took = s.took.percentiles();
  out.age = s.age.percentiles();
  return out;
}

}  // namespace koordlet
