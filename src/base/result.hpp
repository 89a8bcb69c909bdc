#pragma once

#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>

namespace koordlet {

enum class Errc {
  kNotFound = 1,  ///< the file, object or key is not there (ENOENT)
  kGone,          ///< it went away while it was being used (ENODEV): a normal event for a cgroup
  kNotSupported,  ///< this kernel or set-up does not offer it (EOPNOTSUPP, EROFS, missing file by
                  ///< design)
  kParse,         ///< the bytes are not what the format says
  kRange,         ///< well-formed, but out of the allowed range
  kInvalid,       ///< the kernel refused the value (EINVAL, ERANGE)
  kBusy,          ///< try again later (EBUSY, EAGAIN, EINTR, ENOSPC on cpuset, ENOMEM, EMFILE,
                  ///< ENFILE)
  kDenied,        ///< no rights (EPERM, EACCES)
  kIo,            ///< everything else
};

/// context reads like "pod X: cpu.max: expected an integer, got 'ab'": subject, value, what was
/// expected.
struct Error {
  Errc code;
  std::string context;
};

template <class T>
using Result = boost::system::result<T, Error>;

inline std::ostream& operator<<(std::ostream& os, const Error& e) { return os << e.context; }

/// Puts "where: " before the context of an error on its way up.
inline Error wrap(std::string_view where, Error e) {
  e.context.insert(0, std::string{where} + ": ");
  return e;
}

/// Error from errno with the usual classes; subject names the file or object, action what was tried
/// ("open", "write '5'").
Error errno_error(int err, std::string_view subject, std::string_view action);

/// Found by boost::system::result: .value() on an error is a programming fault.
[[noreturn]] inline void throw_exception_from_error(const Error& e, const boost::source_location&) {
  throw std::logic_error{"unchecked Result: " + e.context};
}

}  // namespace koordlet
