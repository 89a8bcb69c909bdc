#include "modules/node_reporter/status_writer.hpp"

#include <iterator>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "k8s/node_metric.hpp"
#include "reactor/task_group.hpp"

namespace koordlet {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using Answer = Result<k8s::ApiAnswer>;

constexpr auto kPatchAgain = std::chrono::minutes{10};

WriteResult failed(std::string_view what, const k8s::ApiAnswer& answer) {
  WriteResult out;
  out.problem = fmt::format("{}: {}", what, answer.problem());
  out.later = judge(answer.status) == Verdict::kLater;
  out.retry_after = answer.retry_after;
  return out;
}

WriteResult failed(std::string problem) {
  WriteResult out;
  out.problem = std::move(problem);
  return out;
}

}  // namespace

Verdict judge(unsigned status) {
  if (status >= 200 && status < 300) return Verdict::kDone;
  if (status >= 500) return Verdict::kLater;
  switch (status) {
    case 404:
      return Verdict::kAbsent;
    case 409:
      return Verdict::kConflict;
    case 403:
    case 405:
    case 415:
      return Verdict::kNoPatch;
    case 429:
      return Verdict::kLater;
    default:
      return Verdict::kFailed;
  }
}

StatusWriter::StatusWriter(std::string node_name,
                           bool create,
                           k8s::ApiCaller call,
                           const Clock& clock)
    : name_{std::move(node_name)}, create_{create}, call_{std::move(call)}, clock_{clock} {}

bool StatusWriter::may_patch() const {
  return no_patch_.empty() || clock_.now() >= patch_again_at_;
}

asio::awaitable<Answer> StatusWriter::patch(json::object status) {
  ++counts_.patches;
  k8s::ApiCall call;
  call.method = "PATCH";
  call.path = fmt::format("{}/{}/status", k8s::kNodeMetrics, k8s::escape(name_));
  call.content_type = "application/merge-patch+json";
  call.body = k8s::node_metric_patch(std::move(status));
  auto answer = co_await call_(std::move(call));
  co_return answer;
}

/// The answer of the read when that fails.
asio::awaitable<Answer> StatusWriter::replace(json::object status) {
  k8s::ApiCall get;
  get.path = fmt::format("{}/{}", k8s::kNodeMetrics, k8s::escape(name_));
  const auto path = get.path;
  auto read = co_await call_(std::move(get));
  if (!read || !read->ok()) co_return read;
  if (!read->body.is_object()) {
    Error problem{Errc::kParse, fmt::format("GET {}: expected an object", path)};
    co_return problem;
  }
  ++counts_.puts;
  k8s::ApiCall put;
  put.method = "PUT";
  put.path = path + "/status";
  put.body = std::move(read->body);
  put.body.get_object()["status"] = std::move(status);
  auto answer = co_await call_(std::move(put));
  co_return answer;
}

asio::awaitable<WriteResult> StatusWriter::create(std::string node_uid) {
  k8s::ApiCall call;
  call.method = "POST";
  call.path = std::string{k8s::kNodeMetrics};
  call.body = k8s::new_node_metric(name_, node_uid, NodeMetricSpec{});
  const auto answer = co_await call_(std::move(call));
  if (!answer) co_return failed("create nodemetric: " + answer.error().context);
  const auto verdict = judge(answer->status);
  if (verdict == Verdict::kAbsent) {
    co_return failed("the NodeMetric CRD is not installed: " + answer->problem());
  }
  // Somebody else was faster: the object is there, which is all we want.
  if (verdict != Verdict::kDone && verdict != Verdict::kConflict) {
    co_return failed("create nodemetric", *answer);
  }
  if (verdict == Verdict::kDone) ++counts_.created;
  WriteResult out;
  out.ok = true;
  co_return out;
}

asio::awaitable<WriteResult> StatusWriter::write(json::object status, std::string node_uid) {
  std::size_t conflicts = 0;
  bool created = false;
  for (;;) {
    const bool patching = may_patch();
    auto step = patching ? patch(status) : replace(status);
    const auto answer = co_await std::move(step);
    if (!answer) co_return failed("nodemetric: " + answer.error().context);
    const auto verdict = judge(answer->status);
    if (verdict == Verdict::kDone) {
      if (patching) no_patch_.clear();
      WriteResult out;
      out.ok = true;
      co_return out;
    }
    if (verdict == Verdict::kNoPatch && patching) {
      no_patch_ = answer->problem();
      patch_again_at_ = clock_.now() + kPatchAgain;
    } else if (verdict == Verdict::kConflict && conflicts < std::size(kConflictWaits)) {
      ++counts_.conflicts;
      const auto executor = co_await asio::this_coro::executor;
      asio::steady_timer pause{executor, kConflictWaits[conflicts++]};
      co_await pause.async_wait(reactor::use_ec);
    } else if (verdict == Verdict::kAbsent && create_ && !created) {
      created = true;
      auto made = co_await create(node_uid);
      if (!made.ok) co_return made;
    } else if (verdict == Verdict::kAbsent) {
      co_return failed(created ? "the NodeMetric object is gone again"
                               : "no NodeMetric object, and report.create is off");
    } else {
      co_return failed("nodemetric", *answer);
    }
  }
}

}  // namespace koordlet
