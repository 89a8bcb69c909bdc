#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kernel/fd.hpp"

namespace koordlet::app {

/// A file that appears under its name when it is whole. Until keep() its text is in a temporary
/// file beside it, which goes with the object, and when SIGHUP, SIGINT or SIGTERM end the process
/// (a signal that is ignored stays ignored). For the one thread of a command; one object at a time.
class WholeFile {
 public:
  explicit WholeFile(std::string path) : path_{std::move(path)}, temporary_{path_ + ".XXXXXX"} {}
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  Result<void> open();
  Result<void> write(std::string_view text) const;
  Result<void> keep();

 private:
  std::string path_, temporary_;
  kernel::Fd fd_;
};

}  // namespace koordlet::app
