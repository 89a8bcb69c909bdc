#include "modules/node_reporter/topology_reporter.hpp"

#include <algorithm>
#include <iterator>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/log.hpp"
#include "k8s/node_topology.hpp"
#include "modules/node_reporter/status_writer.hpp"
#include "reactor/task_group.hpp"
#include "reactor/timer_fd.hpp"

namespace koordlet {
namespace {

namespace asio = boost::asio;
constexpr std::string_view kSubject = "topology_reporter";

}  // namespace

struct TopologyReporter::Impl {
  /// "" when the object is as wanted now.
  using Problem = std::string;

  asio::any_io_executor executor;
  const Config config;
  Deps deps;
  const Clock& clock;
  Status status;
  std::optional<k8s::NodeTopology> confirmed;  ///< what the server was last known to have
  MonoTime quiet_until{};                      ///< the server asked for time, or has no such CRD

  asio::awaitable<Problem> bring_about(k8s::NodeTopology want, std::string node_uid);
  asio::awaitable<Problem> create(const k8s::NodeTopology& want, const std::string& node_uid);
  asio::awaitable<Result<k8s::ApiAnswer>> put(boost::json::object object);
  std::string refused(std::string_view what, const k8s::ApiAnswer& answer);
  void note(std::string problem);
};

std::string TopologyReporter::Impl::refused(std::string_view what, const k8s::ApiAnswer& answer) {
  if (judge(answer.status) == Verdict::kLater && answer.retry_after) {
    quiet_until = clock.now() + std::min(*answer.retry_after, config.verify);
  }
  return fmt::format("{}: {}", what, answer.problem());
}

asio::awaitable<std::string> TopologyReporter::Impl::create(const k8s::NodeTopology& want,
                                                            const std::string& node_uid) {
  k8s::ApiCall call;
  call.method = "POST";
  call.path = std::string{k8s::kTopologies};
  call.body = k8s::new_node_topology(config.node_name, node_uid, want);
  const auto answer = co_await deps.call(std::move(call));
  if (!answer) co_return "create: " + answer.error().context;
  if (answer->ok()) {
    ++status.created;
    co_return std::string{};
  }
  if (answer->status == 404) {
    status.installed = false;
    quiet_until = clock.now() + config.verify;
    co_return std::string{"the NodeResourceTopology CRD is not installed"};
  }
  co_return refused("create", *answer);
}

asio::awaitable<Result<k8s::ApiAnswer>> TopologyReporter::Impl::put(boost::json::object object) {
  ++status.writes;
  k8s::ApiCall call;
  call.method = "PUT";
  call.path = fmt::format("{}/{}", k8s::kTopologies, k8s::escape(config.node_name));
  call.body = std::move(object);
  auto answer = co_await deps.call(std::move(call));
  co_return answer;
}

asio::awaitable<std::string> TopologyReporter::Impl::bring_about(k8s::NodeTopology want,
                                                                 std::string node_uid) {
  for (std::size_t conflicts = 0;;) {
    ++status.reads;
    k8s::ApiCall get;
    get.path = fmt::format("{}/{}", k8s::kTopologies, k8s::escape(config.node_name));
    const auto read = co_await deps.call(std::move(get));
    if (!read) co_return "read: " + read.error().context;
    if (read->status == 404) {
      auto problem = co_await create(want, node_uid);
      co_return problem;
    }
    if (!read->ok()) co_return refused("read", *read);
    auto object = k8s::update_node_topology(read->body, want);
    if (!object) co_return object.error().context;
    if (!*object) co_return std::string{};
    const auto wrote = co_await put(std::move(**object));
    if (!wrote) co_return "write: " + wrote.error().context;
    if (wrote->ok()) co_return std::string{};
    if (judge(wrote->status) != Verdict::kConflict || conflicts == std::size(kConflictWaits)) {
      co_return refused("write", *wrote);
    }
    ++status.conflicts;
    asio::steady_timer pause{executor, kConflictWaits[conflicts++]};
    co_await pause.async_wait(reactor::use_ec);
  }
}

void TopologyReporter::Impl::note(std::string problem) {
  if (!problem.empty()) ++status.failures;
  if (problem != status.problem) {
    if (problem.empty()) {
      log::info(kSubject, "the object is up to date again");
    } else {
      log::warn(kSubject, problem);
    }
  }
  status.problem = std::move(problem);
}

TopologyReporter::TopologyReporter(asio::any_io_executor ex,
                                   Config config,
                                   Deps deps,
                                   const Clock& clock)
    : impl_{new Impl{std::move(ex), std::move(config), std::move(deps), clock, {}, {}, {}}} {}

TopologyReporter::~TopologyReporter() = default;

asio::awaitable<void> TopologyReporter::step() {
  auto& s = *impl_;
  ++s.status.rounds;
  if (s.clock.now() < s.quiet_until) co_return;
  const auto input = co_await s.deps.gather();
  if (!input) {
    s.note("inputs: " + input.error().context);
    co_return;
  }
  if (input->cpus.empty() || !input->node) {
    s.note(input->node ? "the CPU topology is not known" : "the Node is not known yet");
    co_return;
  }
  const auto want = build_topology(*input);
  const bool recent =
      s.status.confirmed_at && s.clock.now() - *s.status.confirmed_at < s.config.verify;
  if (recent && s.confirmed == want) co_return;
  auto problem = co_await s.bring_about(want, input->node_uid);
  if (problem.empty()) {
    s.confirmed = want;
    s.status.confirmed_at = s.clock.now();
    s.status.installed = true;
  } else {
    s.confirmed.reset();
  }
  s.note(std::move(problem));
}

asio::awaitable<void> TopologyReporter::run() {
  const auto interval = std::max(impl_->config.interval, std::chrono::seconds{1});
  reactor::TimerFd timer{impl_->executor, interval};
  for (;;) {
    co_await step();
    const auto ec = co_await timer.wait();
    if (ec) co_return;
  }
}

const TopologyReporter::Status& TopologyReporter::status() const { return impl_->status; }

}  // namespace koordlet
