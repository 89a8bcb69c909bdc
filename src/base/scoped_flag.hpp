#pragma once

namespace koordlet {

/// The flag is true while this is in scope: also when a coroutine is cancelled or throws.
class ScopedFlag {
 public:
  explicit ScopedFlag(bool& flag) : flag_{flag} { flag_ = true; }
  ~ScopedFlag() { flag_ = false; }
  ScopedFlag(const ScopedFlag&) = delete;
  ScopedFlag& operator=(const ScopedFlag&) = delete;

 private:
  bool& flag_;
};

}  // namespace koordlet
