#pragma once

#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/json/parse.hpp>

#include "k8s/api_caller.hpp"

namespace koordlet::test {

/// An API server as a list of answers: each call takes the next one.
class ApiScript {
 public:
  void answer(unsigned status, const std::string& body = "") {
    k8s::ApiAnswer out;
    out.status = status;
    if (!body.empty()) out.body = boost::json::parse(body);
    answers_.emplace_back(std::move(out));
  }
  void answer_later(unsigned status, std::chrono::seconds retry_after) {
    k8s::ApiAnswer out;
    out.status = status;
    out.retry_after = retry_after;
    answers_.emplace_back(std::move(out));
  }
  void fail(Errc code, const std::string& context) { answers_.emplace_back(Error{code, context}); }

  /// Must not outlive the script.
  k8s::ApiCaller caller() {
    return [this](k8s::ApiCall call) { return next(std::move(call)); };
  }
  const std::vector<k8s::ApiCall>& calls() const { return calls_; }
  const k8s::ApiCall& last() const { return calls_.at(calls_.size() - 1); }
  std::size_t left() const { return answers_.size(); }

 private:
  boost::asio::awaitable<Result<k8s::ApiAnswer>> next(k8s::ApiCall call) {
    calls_.push_back(std::move(call));
    if (answers_.empty()) throw std::logic_error{"unexpected call: " + calls_.back().path};
    Result<k8s::ApiAnswer> out = std::move(answers_.front());
    answers_.pop_front();
    co_return out;
  }

  std::deque<Result<k8s::ApiAnswer>> answers_;
  std::vector<k8s::ApiCall> calls_;
};

inline const std::string kCoreResources =
    R"({"kind": "APIResourceList", "groupVersion": "v1", "resources": [
      {"name": "pods", "kind": "Pod"},
      {"name": "pods/eviction", "group": "policy", "version": "v1", "kind": "Eviction"}]})";
inline const std::string kOldCoreResources =
    R"({"resources": [{"name": "pods/eviction", "group": "policy", "version": "v1beta1"}]})";
inline const std::string kBudget =
    R"({"kind": "Status", "status": "Failure", "reason": "TooManyRequests", "code": 429,
      "message": "Cannot evict pod as it would violate the pod's disruption budget.",
      "details": {"causes": [{"reason": "DisruptionBudget", "message": "needs 2 healthy pods"}]}})";
inline const std::string kNoSuchPod =
    R"({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404,
      "message": "pods \"sort-1\" not found", "details": {"name": "sort-1", "kind": "pods"}})";
inline const std::string kNoSuchPath =
    R"({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404,
      "message": "the server could not find the requested resource", "details": {}})";

}  // namespace koordlet::test
