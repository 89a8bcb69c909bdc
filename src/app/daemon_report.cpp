#include "app/daemon_impl.hpp"

namespace koordlet::app {

boost::asio::awaitable<Result<ReportInput>> Daemon::gather_report() {
  ReportInput input;
  input.state = states_->state();
  input.questions = report_questions(*input.state);
  input.wall = clock_.wall();
  input.now = cache_->stored_time(clock_.now());
  input.node_uid = states_->node_uid();
  auto answers = co_await cache_->aggregate_many(input.questions);
  if (!answers) co_return wrap("metric store", answers.error());
  input.answers = std::move(*answers);
  co_return input;
}

}  // namespace koordlet::app
