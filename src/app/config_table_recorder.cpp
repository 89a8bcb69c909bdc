#include "app/config_table.hpp"

namespace koordlet::app {

void add_recorder(std::vector<Setting>& out) {
  out.push_back(boolean("recorder.enabled",
                        KOORDLET_AT(recorder.enabled),
                        "keep what the policy saw and decided, for koordlet simulate --from"));
  out.push_back(size("recorder.size",
                     KOORDLET_AT(recorder.size),
                     kMiB,
                     4 * kGiB,
                     "most that the recordings take; the oldest go first"));
}

}  // namespace koordlet::app
