#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "modules/resource_executor/resource_executor.hpp"
#include "support/async.hpp"
#include "support/fake_cgroups.hpp"
#include "support/manual_clock.hpp"

namespace koordlet::test {

inline Desired wish(CgroupValue value, int order = 0) {
  Desired out;
  out.value = std::move(value);
  out.plugin = "cpu_suppress";
  out.reason = "test";
  out.order = order;
  return out;
}

/// An executor over a fake tree and, when given, a journal.
struct Rig {
  explicit Rig(CgroupVersion version,
               ResourceExecutor::Config c = {},
               store::Journal* j = nullptr,
               reactor::Worker* w = nullptr)
      : tree{version}, config{c}, journal{j}, storage{w} {
    restart();
  }
  /// A new process on the same kernel and journal.
  void restart(std::string boot_id = "boot-1") {
    executor = std::make_unique<ResourceExecutor>(
        config, tree, journal, storage, clock, std::move(boot_id));
  }
  std::vector<Outcome> apply(const DesiredTable& desired) {
    return run(io, executor->apply(desired, clock.now()));
  }
  Outcome apply_one(const CgroupKey& key, const CgroupValue& value) {
    return apply({{key, wish(value)}}).at(0);
  }
  std::vector<ResourceExecutor::Held> adopt() { return run(io, executor->adopt()).value(); }
  ResourceExecutor::Held held(const CgroupKey& key) const {
    for (auto& h : executor->held()) {
      if (h.key == key) return h;
    }
    return {};
  }
  /// Writes since the last call, as text.
  std::vector<std::string> writes() {
    auto out = tree.log_text();
    tree.clear_log();
    return out;
  }

  boost::asio::io_context io;
  ManualClock clock;
  FakeCgroups tree;
  ResourceExecutor::Config config;
  store::Journal* journal;
  reactor::Worker* storage;
  std::unique_ptr<ResourceExecutor> executor;
};

using Texts = std::vector<std::string>;

}  // namespace koordlet::test
