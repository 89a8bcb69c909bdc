#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace koordlet::k8s {

/// Cuts a stream of newline-framed JSON into lines. Blank lines are skipped, "\r\n" ends a line
/// too.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t max_line) : max_line_{max_line} {}

  void add(std::string piece);
  /// The next whole line, without its end; nullopt: more bytes are needed. kRange: a line is longer
  /// than max_line; the stream is lost then. The view is valid until the next add().
  Result<std::optional<std::string_view>> next();
  /// Bytes of a line that is not whole: half a line at the end of a stream.
  std::size_t left() const { return buffer_.size() - start_; }

 private:
  std::size_t max_line_;
  std::string buffer_;
  std::size_t start_ = 0;    ///< of the first line that was not handed out
  std::size_t scanned_ = 0;  ///< no line end before this
};

}  // namespace koordlet::k8s
