#include "k8s/base64.hpp"

#include <limits>
#include <openssl/evp.h>

#include <fmt/format.h>

namespace koordlet::k8s {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_alphabet(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/';
}

}  // namespace

Result<std::string> decode_base64(std::string_view text) {
  std::string digits;
  digits.reserve(text.size());
  std::size_t padding = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_blank(c)) continue;
    const bool pad = c == '=';
    if ((!pad && !is_alphabet(c)) || (!pad && padding != 0) || padding + (pad ? 1 : 0) > 2) {
      return Error{Errc::kParse, fmt::format("not base64: byte {}", i + 1)};
    }
    padding += pad ? 1 : 0;
    digits.push_back(c);
  }
  // EVP_DecodeBlock takes shorter texts and counts the padding as zero bytes.
  if (digits.size() % 4 != 0) {
    return Error{Errc::kParse,
                 fmt::format("not base64: {} characters: expected a multiple of 4", digits.size())};
  }
  if (digits.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return Error{Errc::kRange, "base64 text too long"};
  }
  if (digits.empty()) return std::string{};
  std::string out(digits.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(digits.data()),
                                   static_cast<int>(digits.size()));
  if (size < 0 || static_cast<std::size_t>(size) != out.size()) {
    return Error{Errc::kParse, "not base64"};
  }
  out.resize(out.size() - padding);
  return out;
}

}  // namespace koordlet::k8s
