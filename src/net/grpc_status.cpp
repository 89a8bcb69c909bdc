#include "net/grpc_status.hpp"

namespace koordlet::net {

Errc errc_of_status(std::uint64_t status) {
  switch (status) {
    case 3:  // INVALID_ARGUMENT
      return Errc::kInvalid;
    case 4:   // DEADLINE_EXCEEDED
    case 8:   // RESOURCE_EXHAUSTED
    case 14:  // UNAVAILABLE
      return Errc::kBusy;
    case 5:  // NOT_FOUND
      return Errc::kNotFound;
    case 7:   // PERMISSION_DENIED
    case 16:  // UNAUTHENTICATED
      return Errc::kDenied;
    case 11:  // OUT_OF_RANGE
      return Errc::kRange;
    case 12:  // UNIMPLEMENTED
      return Errc::kNotSupported;
    default:
      return Errc::kIo;
  }
}

}  // namespace koordlet::net
