#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "store/lmdb_env.hpp"

namespace koordlet::store {

/// What a module learned, as one named text in the state environment, so that a restart goes on
/// from it. Storage thread only.
class Checkpoints {
 public:
  /// A text larger than this is refused: the environment's other tenant is the journal.
  static constexpr std::size_t kMaxBytes = 4u << 20;
  explicit Checkpoints(LmdbEnv& env) : env_{env} {}

  /// In one commit. kRange: name empty or above 200 bytes, or more than kMaxBytes.
  Result<void> put(const std::string& name, std::string_view text);
  /// nullopt: never written. kParse: the row is damaged.
  Result<std::optional<std::string>> get(const std::string& name);

 private:
  LmdbEnv& env_;
};

}  // namespace koordlet::store
