#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace koordlet::k8s {

/// Standard base64 with padding, as in *-data fields and Secrets. ASCII blanks are skipped (YAML
/// folds long lines). kParse for everything else that is not base64; the message holds none of the
/// text, which may be a key.
Result<std::string> decode_base64(std::string_view text);

}  // namespace koordlet::k8s
