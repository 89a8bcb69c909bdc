#include "app/whole_file.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace koordlet::app {
namespace {

constexpr std::array kEnding{SIGHUP, SIGINT, SIGTERM};

// A handler has no argument of its own.
std::atomic<const char*> g_temporary{nullptr};
std::array<struct sigaction, kEnding.size()> g_former;
struct sigaction g_former_limit;

void remove_and_end(int number) {
  if (const char* path = g_temporary.load()) ::unlink(path);
  ::signal(number, SIG_DFL);
  ::raise(number);  // delivered when the handler returns: the parent sees what ended it
}

void remove_at_signals(const std::string& path) {
  g_temporary = path.c_str();
  for (std::size_t i = 0; i < kEnding.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = remove_and_end;
    ::sigaction(kEnding[i], nullptr, &g_former[i]);
    if (g_former[i].sa_handler != SIG_IGN) ::sigaction(kEnding[i], &action, nullptr);
  }
  // Past the limit of a file's size the write then fails (EFBIG), and says so.
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGXFSZ, &ignore, &g_former_limit);
}

mode_t current_umask() {
  const auto mask = ::umask(0);
  ::umask(mask);
  return mask;
}

void no_longer() {
  if (g_temporary.load() == nullptr) return;
  for (std::size_t i = 0; i < kEnding.size(); ++i) ::sigaction(kEnding[i], &g_former[i], nullptr);
  ::sigaction(SIGXFSZ, &g_former_limit, nullptr);
  g_temporary = nullptr;
}

}  // namespace

WholeFile::~WholeFile() {
  if (!fd_ || in_place_) return;
  ::unlink(temporary_.c_str());
  no_longer();
}

// The handler is there before the file is: mkostemp puts the name into the same bytes.
Result<void> WholeFile::open() {
  struct stat st {};
  const bool exists = ::stat(path_.c_str(), &st) == 0;
  if (exists && !S_ISREG(st.st_mode)) {
    in_place_ = true;
    fd_ = kernel::Fd{::open(path_.c_str(), O_WRONLY | O_CLOEXEC)};
    return fd_ ? Result<void>{} : errno_error(errno, path_, "open for writing");
  }
  if (exists) {
    std::error_code ec;
    const auto target = std::filesystem::canonical(path_, ec);
    if (!ec) path_ = target.string();
  }
  temporary_ = path_ + ".XXXXXX";
  remove_at_signals(temporary_);
  fd_ = kernel::Fd{::mkostemp(temporary_.data(), O_CLOEXEC)};
  if (fd_) {
    const auto mode = exists ? st.st_mode & 07777 : 0666 & ~current_umask();
    if (::fchmod(fd_.get(), mode) == 0) return {};
    const auto error = errno_error(errno, path_, "set the mode of a temporary file beside it");
    ::unlink(temporary_.c_str());
    fd_ = kernel::Fd{};
    no_longer();
    return error;
  }
  const int err = errno;
  no_longer();
  return errno_error(err, path_, "create a temporary file beside it");
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
  if (in_place_) {
    fd_ = kernel::Fd{};
    return {};
  }
  if (::fsync(fd_.get()) != 0) return errno_error(errno, path_, "fsync");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return errno_error(errno, path_, "rename");
  no_longer();
  fd_ = kernel::Fd{};
  return {};
}

}  // namespace koordlet::app
