#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kernel/fd.hpp"

namespace koordlet::app {

/// A file that appears under its name when it is whole: written beside it, then renamed. Without
/// keep() nothing is left behind.
class WholeFile {
 public:
  explicit WholeFile(std::string path);
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
