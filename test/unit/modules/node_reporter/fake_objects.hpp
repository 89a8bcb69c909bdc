#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>

#include "k8s/api_caller.hpp"

namespace koordlet::test {

/// One kind of objects of an API server: POST, GET, PUT with its resourceVersion check, and merge
/// patch (RFC 7386); status is a subresource. Scripted answers come first.
class FakeObjects {
 public:
  explicit FakeObjects(std::string collection) : collection_{std::move(collection)} {}

  k8s::ApiCaller caller() {
    return [this](k8s::ApiCall call) { return answer(std::move(call)); };
  }

  bool installed = true;
  bool may_patch = true;
  std::map<std::string, boost::json::value> objects;
  std::vector<std::string> calls;  ///< "PATCH /path"
  std::vector<k8s::ApiCall> full;
  std::deque<k8s::ApiAnswer> scripted;  ///< answers to the next writes (not GET)
  std::function<void()> before_write;   ///< somebody else is faster
  std::function<void()> on_call;

  boost::json::value& put(const std::string& name, boost::json::value object) {
    object.as_object()["metadata"].as_object()["resourceVersion"] = std::to_string(++version_);
    return objects[name] = std::move(object);
  }

 private:
  static k8s::ApiAnswer status(unsigned code) {
    k8s::ApiAnswer out;
    out.status = code;
    return out;
  }
  static boost::json::value merged(boost::json::value target, const boost::json::value& patch) {
    if (!patch.is_object()) return patch;
    if (!target.is_object()) target = boost::json::object{};
    auto& out = target.get_object();
    for (const auto& member : patch.get_object()) {
      if (member.value().is_null()) {
        out.erase(member.key());
        continue;
      }
      const auto* before = out.if_contains(member.key());
      out[member.key()] =
          merged(before != nullptr ? *before : boost::json::value{}, member.value());
    }
    return target;
  }

  boost::asio::awaitable<Result<k8s::ApiAnswer>> answer(k8s::ApiCall call) {
    calls.push_back(call.method + " " + call.path);
    full.push_back(call);
    if (on_call) on_call();
    if (call.method != "GET" && !scripted.empty()) {
      auto out = scripted.front();
      scripted.pop_front();
      co_return out;
    }
    if (call.method != "GET" && before_write) before_write();
    co_return handle(call);
  }

  k8s::ApiAnswer handle(const k8s::ApiCall& call) {
    if (!installed) return status(404);
    if (call.method == "POST") {
      const std::string name{call.body.at("metadata").at("name").as_string()};
      if (call.path != collection_) return status(404);
      if (objects.contains(name)) return status(409);
      put(name, call.body);
      return status(201);
    }
    auto name = call.path.substr(collection_.size() + 1);
    const auto slash = name.find('/');
    const bool sub = slash != std::string::npos;
    if (sub) name.resize(slash);
    const auto at = objects.find(name);
    if (call.method == "PATCH" && !may_patch) return status(403);
    if (at == objects.end()) return status(404);
    if (call.method == "GET") {
      auto out = status(200);
      out.body = at->second;
      return out;
    }
    if (call.method == "PATCH") {
      if (call.content_type != "application/merge-patch+json" || !sub) return status(415);
      const auto& patch = call.body.at("status");
      auto next = at->second;
      auto& root = next.as_object();
      root["status"] = merged(root["status"], patch);
      put(name, std::move(next));
      return status(200);
    }
    const auto& was = at->second.at("metadata").at("resourceVersion");
    const auto* given = call.body.at("metadata").as_object().if_contains("resourceVersion");
    if (given == nullptr || *given != was) return status(409);
    auto next = sub ? at->second : call.body;
    if (sub) next.as_object()["status"] = call.body.at("status");
    put(name, std::move(next));
    return status(200);
  }

  std::string collection_;
  int version_ = 0;
};

}  // namespace koordlet::test
