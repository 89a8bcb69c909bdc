#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "runtime/container_stats.hpp"

/// Bytes of CRI messages to values.
namespace koordlet::runtime {

/// The answer to ListContainerStats or ListPodSandboxStats, taken apart some entries at a time: a
/// list of thousands must not hold up the loop.
class StatsList {
 public:
  enum class Kind { kContainers, kPodSandboxes };
  StatsList(Kind kind, std::string bytes) : kind_{kind}, bytes_{std::move(bytes)} {}

  /// Puts up to `most` further entries onto `out`, in the order of the list; true: there are more.
  /// An entry without an id is left out. kParse: these bytes are no such message; what is on `out`
  /// by then is worth nothing.
  Result<bool> take(std::size_t most, std::vector<ContainerStats>& out);

 private:
  Kind kind_;
  std::string bytes_;
  std::size_t at_ = 0;
};

/// The whole list at once.
Result<std::vector<ContainerStats>> parse_stats(StatsList::Kind kind, std::string bytes);

}  // namespace koordlet::runtime
