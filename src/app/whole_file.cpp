#include "app/whole_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace koordlet::app {

WholeFile::WholeFile(std::string path) : path_{std::move(path)}, temporary_{path_ + ".XXXXXX"} {}

WholeFile::~WholeFile() {
  if (fd_) ::unlink(temporary_.c_str());
}

Result<void> WholeFile::open() {
  fd_ = kernel::Fd{::mkostemp(temporary_.data(), O_CLOEXEC)};
  if (!fd_) return errno_error(errno, path_, "create a temporary file beside it");
  return {};
}

Result<void> WholeFile::write(std::string_view text) const {
  while (!text.empty()) {
    const auto n = ::write(fd_.get(), text.data(), text.size());
    if (n < 0 && errno != EINTR) return errno_error(errno, path_, "write");
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> WholeFile::keep() {
  if (::fsync(fd_.get()) != 0) return errno_error(errno, path_, "fsync");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return errno_error(errno, path_, "rename");
  fd_ = kernel::Fd{};
  return {};
}

}  // namespace koordlet::app
