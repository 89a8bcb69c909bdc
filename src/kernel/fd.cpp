#include "kernel/fd.hpp"

#include <cerrno>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fmt/format.h>

namespace koordlet::kernel {
namespace {

constexpr std::size_t kFirstBuffer = 64 * 1024;
constexpr std::size_t kMaxKept = 16 * 1024 * 1024;
/// A file of many records comes in pieces of a page less at most one record; none of the files read
/// here has a record of 1 KiB, so a reading that is shorter than this has come whole and needs no
/// second call to see the end.
constexpr std::size_t kSurelyWhole = 3072;

/// Outside text in a message is cut: it may be a whole damaged file.
std::string shown(std::string_view value) {
  constexpr std::size_t kMax = 80;
  return fmt::format("write '{}{}'", value.substr(0, kMax), value.size() > kMax ? "..." : "");
}

Result<Fd> open_fd(const std::string& path, int flags) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return errno_error(errno, path, "open");
  return Fd{fd};
}

ssize_t pread_again(int fd, char* to, std::size_t size, std::size_t offset) {
  ssize_t n = -1;
  do {
    n = ::pread(fd, to, size, static_cast<off_t>(offset));
  } while (n < 0 && errno == EINTR);
  return n;
}

/// One pwrite(2) at 0: a control file takes each write as one order. A plain file is cut to the new
/// length afterwards.
Result<void> write_whole(int fd, const std::string& path, std::string_view value, bool plain) {
  ssize_t n = -1;
  do {
    n = ::pwrite(fd, value.data(), value.size(), 0);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return errno_error(errno, path, shown(value));
  if (static_cast<std::size_t>(n) != value.size()) {
    return Error{
        Errc::kIo,
        fmt::format("{}: {}: only {} of {} bytes taken", path, shown(value), n, value.size())};
  }
  if (plain && ::ftruncate(fd, n) != 0) return errno_error(errno, path, "truncate");
  return {};
}

/// Reused by all reads of the thread, so that a collection of thousands of files allocates nothing.
std::string& read_buffer() {
  thread_local std::string buffer(kFirstBuffer, '\0');
  return buffer;
}

}  // namespace

bool is_kernel_file(int fd) {
  struct statfs fs {};
  if (::fstatfs(fd, &fs) != 0) return true;
  switch (static_cast<unsigned long>(fs.f_type)) {
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
      return true;
    default:
      return false;
  }
}

Fd& Fd::operator=(Fd&& o) noexcept {
  if (this != &o) {
    reset();
    fd_ = o.release();
  }
  return *this;
}

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool is_directory(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

Result<std::string> read_file(const std::string& path, std::size_t max) {
  const auto fd = open_fd(path, O_RDONLY);
  if (!fd) return fd.error();
  constexpr std::size_t kStep = 4096;
  std::string out;
  std::size_t used = 0;
  for (;;) {
    out.resize(used + kStep);
    ssize_t n = -1;
    do {
      n = ::read(fd->get(), out.data() + used, kStep);
    } while (n < 0 && errno == EINTR);
    if (n < 0) return errno_error(errno, path, "read");
    used += static_cast<std::size_t>(n);
    if (used > max) {
      return Error{Errc::kRange, fmt::format("{}: expected at most {} bytes", path, max)};
    }
    if (n == 0) break;
  }
  out.resize(used);
  return out;
}

Result<void> write_file(const std::string& path, std::string_view value) {
  const auto fd = open_fd(path, O_WRONLY);
  if (!fd) return fd.error();
  return write_whole(fd->get(), path, value, !is_kernel_file(fd->get()));
}

Result<void> KeptFd::write(const std::string& path, std::string_view value) const {
  if (plain_) {
    struct stat st {};
    if (::fstat(fd_.get(), &st) != 0) return errno_error(errno, path, "stat");
    if (st.st_nlink == 0) return Error{Errc::kGone, fmt::format("{}: removed", path)};
  }
  // Kept for reading alone: opening for a write says why.
  if (!writable_) return write_file(path, value);
  return write_whole(fd_.get(), path, value, plain_);
}

Result<KeptFd> KeptFd::open(const std::string& path, bool may_be_empty, bool writable) {
  auto fd = open_fd(path, writable ? O_RDWR : O_RDONLY);
  if (!fd && writable) {
    fd = open_fd(path, O_RDONLY);
    writable = false;
  }
  if (!fd) return fd.error();
  const bool plain = !is_kernel_file(fd->get());
  return KeptFd{std::move(*fd), plain, may_be_empty, writable};
}

KeptFd::Reading KeptFd::read_whole() const {
  if (plain_) {
    struct stat st {};
    if (::fstat(fd_.get(), &st) != 0) return {{}, End::kErrno, errno, "stat"};
    if (st.st_nlink == 0) return {{}, End::kUnlinked};
  }
  auto& buffer = read_buffer();
  std::size_t used = 0;
  for (;;) {
    const auto n = pread_again(fd_.get(), buffer.data() + used, buffer.size() - used, used);
    if (n < 0) return {{}, End::kErrno, errno};
    used += static_cast<std::size_t>(n);
    if (n == 0 || used < kSurelyWhole) break;
    if (used < buffer.size()) continue;
    if (buffer.size() >= kMaxKept) return {{}, End::kTooLong};
    buffer.resize(buffer.size() * 2);
    used = 0;  // from the start again: one reading, not two halves of different moments
  }
  if (used == 0 && !may_be_empty_) return {{}, End::kEmpty};
  return {std::string_view{buffer}.substr(0, used)};
}

Error KeptFd::explain(const Reading& got, const std::string& path) {
  switch (got.end) {
    case End::kErrno:
      return errno_error(got.err, path, got.action);
    case End::kUnlinked:
      return {Errc::kGone, fmt::format("{}: removed", path)};
    case End::kTooLong:
      return {Errc::kRange, fmt::format("{}: expected at most {} bytes", path, kMaxKept)};
    case End::kEmpty:
    case End::kText:
      break;
  }
  return {Errc::kGone, fmt::format("{}: no content", path)};
}

Result<KeptFile> KeptFile::open(const std::string& path, bool may_be_empty, bool writable) {
  auto fd = KeptFd::open(path, may_be_empty, writable);
  if (!fd) return fd.error();
  return KeptFile{std::move(*fd), path};
}

}  // namespace koordlet::kernel
