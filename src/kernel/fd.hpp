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

/// Of a file system that the kernel makes up (cgroup, proc, sysfs), not of a recorded tree. Unknown
/// counts as yes.
bool is_kernel_file(int fd);

/// Follows symbolic links; false when it cannot be looked at.
bool is_directory(const std::string& path);

/// Whole content of a small kernel or config file, at most `max` bytes (kRange beyond). Errors name
/// the path.
Result<std::string> read_file(const std::string& path, std::size_t max = 1 << 20);

/// One write(2) of `value`, without O_CREAT and O_TRUNC: a control file takes each write as one
/// order. A plain file (recorded or test tree) is cut to the new length afterwards.
Result<void> write_file(const std::string& path, std::string_view value);

/// A descriptor kept open and read from offset 0 each time: 2 us instead of 20 (kernfs makes the
/// content anew at 0). Keeps no path: for owners of thousands, who know it otherwise.
class KeptFd {
 public:
  /// `may_be_empty`: no byte at all is a content (io.stat of a cgroup that did no IO). `writable`:
  /// for reading and writing, or for reading alone where the file takes no writes.
  static Result<KeptFd> open(const std::string& path,
                             bool may_be_empty = false,
                             bool writable = false);
  KeptFd() = default;  ///< holds nothing; must not be read

  /// The whole file: it is read to its end, and one that is longer than the buffer (64 KiB at
  /// first, then doubled and kept) is read again from the start, never joined from two moments;
  /// over 16 MiB is kRange. Three things are kGone, for the caller to drop: ENODEV (cgroup
  /// removed), no byte at all (unless it may be empty), and a plain file that was unlinked.
  /// `path()` is called for an error only. The view is valid until the next read on this thread.
  template <class Path>
  Result<std::string_view> read(Path&& path) const {
    const auto got = read_whole();
    if (got.end == End::kText) return got.text;
    return explain(got, path());
  }
  /// One write of `value`, as write_file(); by opening anew when the descriptor is for reading
  /// alone. kGone as in read().
  Result<void> write(const std::string& path, std::string_view value) const;
  explicit operator bool() const { return static_cast<bool>(fd_); }

 private:
  enum class End { kText, kErrno, kUnlinked, kEmpty, kTooLong };
  struct Reading {
    std::string_view text{};
    End end = End::kText;
    int err = 0;
    const char* action = "read";
  };
  KeptFd(Fd fd, bool plain, bool may_be_empty, bool writable)
      : fd_{std::move(fd)}, plain_{plain}, may_be_empty_{may_be_empty}, writable_{writable} {}
  Reading read_whole() const;
  static Error explain(const Reading& got, const std::string& path);

  Fd fd_;
  bool plain_ = false;  ///< not on a kernel file system: an unlinked file keeps its old content
  bool may_be_empty_ = false;
  bool writable_ = false;
};

/// A KeptFd that knows its path.
class KeptFile {
 public:
  static Result<KeptFile> open(const std::string& path,
                               bool may_be_empty = false,
                               bool writable = false);
  /// As KeptFd::read().
  Result<std::string_view> read() {
    return fd_.read([this]() -> const std::string& { return path_; });
  }
  /// As KeptFd::write().
  Result<void> write(std::string_view value) { return fd_.write(path_, value); }
  const std::string& path() const { return path_; }

 private:
  KeptFile(KeptFd fd, std::string path) : fd_{std::move(fd)}, path_{std::move(path)} {}
  KeptFd fd_;
  std::string path_;
};

}  // namespace koordlet::kernel
