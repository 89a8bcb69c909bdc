#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/cgroup_tree.hpp"

namespace koordlet::test {

/// The modelled tree (its rules stand in sim/cgroup_tree.hpp) with a log of what was written,
/// foreign hands, and faults on order.
class FakeCgroups final : public sim::CgroupTree {
 public:
  using CgroupTree::CgroupTree;
  using CgroupTree::make;

  CgroupPath make(std::string_view path);
  /// What systemd believes the unit to have; daemon_reload() puts it back.
  void set_unit(const CgroupKey& key, const CgroupValue& value);
  void daemon_reload();

  /// The next `times` writes of `key` fail with `code`.
  void fail_next(const CgroupKey& key, Errc code, int times = 1);
  /// The next write of `key` finds the cgroup removed meanwhile (kGone).
  void remove_during_write(const CgroupKey& key);
  /// Called before every write attempt; may change the tree, or throw to play a crash.
  void on_write(std::function<void(const CgroupKey&, const CgroupValue&)> hook);

  struct Write {
    CgroupKey key;
    CgroupValue value;
  };
  /// Accepted writes, in order.
  const std::vector<Write>& log() const { return log_; }
  /// The same as text: "/kubepods/besteffort cpu.max = 120000 100000".
  std::vector<std::string> log_text() const;
  void clear_log() { log_.clear(); }
  int attempts() const { return attempts_; }  ///< writes tried, refused ones included
  int reads() const { return reads_; }
  /// Canonical text of the present value, "-" when there is none.
  std::string text(const CgroupKey& key);

  Result<CgroupValue> read(const CgroupKey& key) override;
  Result<void> write(const CgroupKey& key, const CgroupValue& value) override;
  std::string file(const CgroupKey& key) const override;

 private:
  struct Fault {
    Errc code;
    int times;
  };
  std::map<CgroupKey, CgroupValue> units_;
  std::map<CgroupKey, Fault> faults_;
  std::set<CgroupKey> doomed_;
  std::function<void(const CgroupKey&, const CgroupValue&)> hook_;
  std::vector<Write> log_;
  int attempts_ = 0;
  int reads_ = 0;
};

/// Short spellings for tests.
CgroupPath path_of(std::string_view text);
CgroupKey key_of(std::string_view path, CgroupFile file);
CgroupValue cpu_max(std::int64_t quota_us, std::int64_t period_us = 100'000);
CgroupValue cpu_unlimited(std::int64_t period_us = 100'000);
CgroupValue cpus(std::string_view list);
CgroupValue bytes(std::int64_t n);
CgroupValue bytes_unlimited();
CgroupValue number(std::int64_t n);

}  // namespace koordlet::test
