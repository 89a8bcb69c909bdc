#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "api_bed.hpp"
#include "k8s/reflector.hpp"
#include "reactor/task_group.hpp"

namespace koordlet::test {

/// What a Reflector hands over, kept like a module would keep it.
struct Kept {
  std::map<std::string, std::string> objects;  ///< name -> resourceVersion
  std::map<std::string, std::string> staged;
  int commits = 0, abandons = 0, applies = 0;

  static std::string text(const boost::json::value& object, const char* key) {
    return std::string{object.at("metadata").at(key).as_string()};
  }
  k8s::Reflector::Sink sink() {
    k8s::Reflector::Sink out;
    out.stage = [this](boost::json::value o) {
      staged[text(o, "name")] = text(o, "resourceVersion");
    };
    out.commit = [this] {
      objects = std::exchange(staged, {});
      ++commits;
    };
    out.abandon = [this] {
      staged.clear();
      ++abandons;
    };
    out.apply = [this](k8s::Reflector::Event event, boost::json::value o) {
      ++applies;
      if (event == k8s::Reflector::Event::kDeleted) {
        objects.erase(text(o, "name"));
      } else {
        objects[text(o, "name")] = text(o, "resourceVersion");
      }
    };
    return out;
  }
};

/// A Reflector on the loop of a bed, stopped and awaited when it goes away.
class Following {
 public:
  Following(ApiBed& bed,
            k8s::ApiClient& api,
            const std::string& path,
            k8s::Reflector::Options options,
            bool not_found_is_empty = false)
      : bed_{bed},
        reflector_{bed.io.get_executor(),
                   api,
                   {"things", path, ""},
                   kept.sink(),
                   options,
                   bed.clock,
                   not_found_is_empty},
        group_{bed.io.get_executor(), {}} {
    group_.spawn("reflector", reflector_.run());
  }
  ~Following() { stop(); }
  Following(const Following&) = delete;

  bool stop() {
    group_.request_stop();
    return bed_.until([this] { return group_.live() == 0; });
  }
  const k8s::Reflector::Health& health() const { return reflector_.health(); }

  Kept kept;

 private:
  ApiBed& bed_;
  k8s::Reflector reflector_;
  reactor::TaskGroup group_;
};

/// Pods of one server over TLS, followed with a back-off of milliseconds.
class ReflectorBed : public ApiBed {
 public:
  static constexpr const char* kPods = "/api/v1/pods";

  static k8s::Reflector::Options quick_watch() {
    k8s::Reflector::Options out;
    out.backoff_min = std::chrono::milliseconds{1};
    out.backoff_max = std::chrono::milliseconds{20};
    out.list_silence = std::chrono::minutes{2};
    out.list_timeout = std::chrono::minutes{2};
    return out;
  }
  void start(k8s::Reflector::Options options = quick_watch()) { start(access(), options); }
  void start(k8s::ApiAccess with, k8s::Reflector::Options options) {
    follow.reset();
    api = std::make_unique<k8s::ApiClient>(io.get_executor(), std::move(with), patient(), clock);
    follow = std::make_unique<Following>(*this, *api, kPods, options);
  }
  bool synced() {
    return until([this] { return follow->health().synced && server.watching() > 0; });
  }
  const k8s::Reflector::Health& health() const { return follow->health(); }
  Kept& kept() { return follow->kept; }
  bool knows(const std::string& name) { return kept().objects.count(name) != 0; }

  std::unique_ptr<k8s::ApiClient> api;
  std::unique_ptr<Following> follow;
};

}  // namespace koordlet::test
