#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kernel/fd.hpp"

namespace koordlet::app {

/// A file that appears under its name when it is whole. Until keep() its text is in a temporary
/// file beside it, which goes with the object, and when SIGHUP, SIGINT or SIGTERM end the process
/// (a signal that is ignored stays ignored); a limit of the file's size is an error of write(). A
/// file that it replaces is the one behind symbolic links, and keeps its mode; what is there and is
/// no regular file (a device, a pipe) is written to, never replaced. For the one thread of a
/// command; one object at a time.
class WholeFile {
 public:
  explicit WholeFile(std::string path) : path_{std::move(path)} {}
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  Result<void> open();
  Result<void> write(std::string_view text) const;
  Result<void> keep();

 private:
  std::string path_, temporary_;
  kernel::Fd fd_;
  bool in_place_ = false;  ///< written to as it is
};

}  // namespace koordlet::app
