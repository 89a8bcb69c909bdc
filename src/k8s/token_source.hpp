#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace koordlet::k8s {

/// A bearer token, fixed or from a file that rotates. The text of a token never shows in an error.
class TokenSource {
 public:
  TokenSource() = default;  ///< no token: anonymous, or a client certificate
  /// The file, when named, wins over the fixed token.
  TokenSource(std::string file, std::string fixed);

  /// Reads the file again; true: the token is another one than before. When that fails, the last
  /// good token stays. kDenied: unreadable, empty, over 64 KiB, or bytes that cannot stand in a
  /// header.
  Result<bool> refresh();
  const std::string& token() const { return token_; }  ///< "" for none
  bool from_file() const { return !file_.empty(); }

 private:
  std::string file_;
  std::string token_;
};

}  // namespace koordlet::k8s
