#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"

namespace koordlet::kernel {

/// Owns one descriptor. Always O_CLOEXEC.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_{fd} {}
  Fd(Fd&& o) noexcept : fd_{std::exchange(o.fd_, -1)} {}
  Fd& operator=(Fd&& o) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// Whole content of a small kernel or config file, at most `max` bytes (kRange beyond). Errors name
/// the path.
Result<std::string> read_file(const std::string& path, std::size_t max = 1 << 20);

/// One write(2) of `value`, without O_CREAT and O_TRUNC: a control file takes each write as one
/// order. A plain file (recorded or test tree) is cut to the new length afterwards.
Result<void> write_file(const std::string& path, std::string_view value);

/// A descriptor kept open and read from offset 0 each time: 2 us instead of 20 (kernfs makes the
/// content anew at 0). For files that always hold something: values and counters.
class KeptFile {
 public:
  /// `may_be_empty`: no byte at all is a content (io.stat of a cgroup that did no IO).
  static Result<KeptFile> open(const std::string& path, bool may_be_empty = false);
  /// The view is valid until the next read on any KeptFile of this thread. Three things are kGone,
  /// for the caller to drop: ENODEV (cgroup removed), no byte at all (unless it may be empty), and
  /// a plain file that was unlinked.
  Result<std::string_view> read();
  const std::string& path() const { return path_; }

 private:
  KeptFile(Fd fd, std::string path, bool plain, bool may_be_empty)
      : fd_{std::move(fd)}, path_{std::move(path)}, plain_{plain}, may_be_empty_{may_be_empty} {}
  Fd fd_;
  std::string path_;
  bool plain_ = false;  ///< not on a kernel file system: an unlinked file keeps its old content
  bool may_be_empty_ = false;
};

}  // namespace koordlet::kernel
