#include "k8s/token_source.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "kernel/fd.hpp"

namespace koordlet::k8s {
namespace {

constexpr std::size_t kMaxToken = 64 * 1024;

}  // namespace

TokenSource::TokenSource(std::string file, std::string fixed) : file_{std::move(file)} {
  if (file_.empty()) token_ = std::move(fixed);
}

Result<bool> TokenSource::refresh() {
  std::string text;
  if (from_file()) {
    auto read = kernel::read_file(file_, kMaxToken);
    if (!read) return Error{Errc::kDenied, fmt::format("token: {}", read.error().context)};
    text = std::move(*read);
  } else {
    if (token_.empty()) return false;
    text = token_;
  }
  const auto token = trim(text);
  const std::string_view subject = from_file() ? std::string_view{file_} : "fixed";
  if (token.empty()) return Error{Errc::kDenied, fmt::format("token: {}: empty", subject)};
  // A line end in a header would let the file's writer add headers of its own.
  const bool clean =
      std::all_of(token.begin(), token.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (!clean) {
    return Error{Errc::kDenied,
                 fmt::format("token: {}: expected printable characters only", subject)};
  }
  if (token == token_) return false;
  token_ = std::string{token};
  return true;
}

}  // namespace koordlet::k8s
