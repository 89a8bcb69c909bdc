#include "k8s/line_splitter.hpp"

#include <utility>

#include <fmt/format.h>

namespace koordlet::k8s {

void LineSplitter::add(std::string piece) {
  if (start_ == buffer_.size()) {
    buffer_ = std::move(piece);
    start_ = scanned_ = 0;
    return;
  }
  buffer_.erase(0, start_);
  scanned_ -= start_;
  start_ = 0;
  buffer_ += piece;
}

Result<std::optional<std::string_view>> LineSplitter::next() {
  for (;;) {
    const auto end = buffer_.find('\n', scanned_);
    const auto stop = end == std::string::npos ? buffer_.size() : end;
    if (stop - start_ > max_line_) {
      return Error{Errc::kRange, fmt::format("a line of more than {} bytes", max_line_)};
    }
    scanned_ = stop;
    if (end == std::string::npos) return std::optional<std::string_view>{};
    auto line = std::string_view{buffer_}.substr(start_, end - start_);
    start_ = scanned_ = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") != std::string_view::npos) return std::optional{line};
  }
}

}  // namespace koordlet::k8s
