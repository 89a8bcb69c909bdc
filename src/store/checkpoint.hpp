#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  /// A row to write, or with nullopt to erase.
  struct Change {
    std::string name;
    std::optional<std::string> text;
  };
  /// All of them in one commit, or none. kRange as above.
  Result<void> apply(const std::vector<Change>& changes);
  /// A row that is not there is no error.
  Result<void> erase(const std::string& name);
  /// nullopt: never written. kParse: the row is damaged.
  Result<std::optional<std::string>> get(const std::string& name);
  /// Names that begin with `prefix`, sorted; damaged rows too.
  Result<std::vector<std::string>> names(const std::string& prefix);

 private:
  LmdbEnv& env_;
};

}  // namespace koordlet::store
