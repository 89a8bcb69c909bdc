#include "model/node_state.hpp"

#include <algorithm>

namespace koordlet {

const Pod* find_pod(const NodeState& state, std::string_view uid) {
  const auto it = std::lower_bound(
      state.pods.begin(), state.pods.end(), uid, [](const auto& pod, std::string_view u) {
        return pod->uid < u;
      });
  return it != state.pods.end() && (*it)->uid == uid ? it->get() : nullptr;
}

}  // namespace koordlet
