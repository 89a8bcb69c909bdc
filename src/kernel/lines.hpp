#pragma once

#include <string_view>

#include "base/result.hpp"

namespace koordlet::kernel {

/// The kernel ends every counter file with a newline. Content without it was cut, and its last
/// number may be the front half of a longer one: kParse. No content at all has no half number.
inline Result<void> require_whole_lines(std::string_view text) {
  if (text.empty() || text.back() == '\n') return {};
  return Error{Errc::kParse, "expected a newline at the end: the content is cut"};
}

}  // namespace koordlet::kernel
