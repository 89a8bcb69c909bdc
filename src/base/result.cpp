#include "base/result.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace koordlet {
namespace {

Errc classify(int err) {
  switch (err) {
    case ENOENT:
    case ENOTDIR:
      return Errc::kNotFound;
    case ENODEV:
      return Errc::kGone;
    case EOPNOTSUPP:
    case EROFS:
    case ENOSYS:
      return Errc::kNotSupported;
    case EINVAL:
    case ERANGE:
      return Errc::kInvalid;
    case EBUSY:
    case EAGAIN:
    case EINTR:
    case ENOSPC:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return Errc::kBusy;
    case EPERM:
    case EACCES:
      return Errc::kDenied;
    default:
      return Errc::kIo;
  }
}

}  // namespace

Error errno_error(int err, std::string_view subject, std::string_view action) {
  return {classify(err),
          fmt::format("{}: {}: {} (errno {})", subject, action, std::strerror(err), err)};
}

}  // namespace koordlet
