#pragma once

#include "base/cgroup.hpp"

namespace koordlet {

/// Who else keeps a value of its own for a control file: systemd, for the slices and scopes that
/// are its units. What it believes it writes again whenever it touches the unit, so it is told what
/// koordlet wrote. The seam between the executor, which writes files, and whoever speaks to
/// systemd. Nothing here waits; keys that have no such owner are ignored. Loop thread.
class UnitOwner {
 public:
  virtual ~UnitOwner() = default;
  /// The file holds `value`, and is to keep it. Said after each write, also of the same value:
  /// somebody had changed the file since.
  virtual void hold(const CgroupKey& key, const CgroupValue& value) = 0;
  /// koordlet lets go of the file, which holds `value` now: its original, or what another writer
  /// left there.
  virtual void give_back(const CgroupKey& key, const CgroupValue& value) = 0;
  /// The cgroup is gone.
  virtual void forget(const CgroupKey& key) = 0;
  /// The end of a batch: what was said since the last call may go out.
  virtual void send() = 0;
  /// True while the owner may still write an earlier value over the file: what is found there now
  /// is no decision of anybody.
  virtual bool settling(const CgroupKey& key) const = 0;
};

}  // namespace koordlet
