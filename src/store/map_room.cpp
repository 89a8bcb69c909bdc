#include "store/map_room.hpp"

#include <algorithm>

namespace koordlet::store {

bool MapRoom::has(std::uint64_t bytes) const {
  const auto page = env_.page_size(), used = env_.used_bytes();
  const auto spare = [page](std::uint64_t capacity) {
    return std::clamp<std::uint64_t>(capacity / page / 16, 24, 512) * page;
  };
  const auto capacity = env_.reserve(used + bytes + spare(env_.map_size()));
  return used + bytes + spare(capacity) <= capacity;
}

bool MapRoom::is_short() const { return env_.used_bytes() / 4 > env_.map_size() / 5; }

}  // namespace koordlet::store
