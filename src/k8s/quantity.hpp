#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/units.hpp"

namespace koordlet::k8s {

/// Kubernetes quantities: integer or decimal, suffix n u m k M G T P E, Ki..Ei, or exponent.
/// Rounded up to the unit read (reference api-and-state, section 0). Out of the int64 range is
/// kRange; negative is allowed here, callers bound it.
Result<MilliCpu> parse_cpu(std::string_view text);          ///< "1500m", "2", "0.5" -> milli-cores
Result<std::int64_t> parse_integer(std::string_view text);  ///< "1k" -> 1000
Result<Bytes> parse_memory(std::string_view text);          ///< "1Gi" -> 1073741824

std::string format_cpu(MilliCpu v);  ///< 1500 -> "1500m", 2000 -> "2"
std::string format_memory(Bytes v);  ///< whole factors of 1024: 570425344 -> "544Mi"

}  // namespace koordlet::k8s
