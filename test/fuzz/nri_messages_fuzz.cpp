#include <string>
#include <vector>

#include "fuzz.hpp"
#include "runtime/nri_messages.hpp"

namespace {

using namespace koordlet;
using namespace koordlet::fuzz;
using namespace koordlet::runtime;

void check(const HookResources& r) {
  require(!r.cpu_shares || *r.cpu_shares > 0, "shares of 0 are unsaid");
  require(!r.cpu_period || r.cpu_period->count() > 0, "a period is above 0");
  require(!r.cpu_quota || !r.cpu_quota->bound() || r.cpu_quota->bound()->count() > 0,
          "a quota is above 0 or unlimited");
  require(!r.cpus || !r.cpus->empty(), "CPUs are never an empty set");
  require(!r.mems || !r.mems->empty(), "NUMA nodes are never an empty set");
  for (const auto* limit : {&r.memory_limit, &r.memory_swap_limit})
    require(!*limit || !(*limit)->bound() || (*limit)->bound()->v > 0,
            "a memory limit is above 0 or unlimited");
}

void check(const HookPod& pod) {
  check(pod.overhead);
  check(pod.resources);
}

/// The updates a plugin may answer with, made of what came: within the bound, and no byte lost.
void check_updates(const std::vector<HookUpdate>& updates, std::size_t bytes) {
  const auto count = updates_within(updates, bytes);
  require(count <= updates.size(), "no more updates than there are");
  const auto part = encode_synchronize(updates, count, true);
  const auto more = part.size() - encode_synchronize({}, 0, true).size();
  require(more <= bytes, "the updates fit");
  if (count < updates.size()) {
    const auto next = encode_synchronize(updates, count + 1, true);
    require(next.size() - encode_synchronize({}, 0, true).size() > bytes,
            "one update more would not fit");
  }
}

}  // namespace

/// One byte: the bound of an answer; the rest is a message.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = text_of(data, size);
  const std::size_t bound = input.empty() ? 0 : static_cast<std::uint8_t>(input[0]) * 4u;
  const auto bytes = input.empty() ? input : input.substr(1);

  static_cast<void>(decode_configure(bytes));
  static_cast<void>(decode_update_containers(bytes));
  std::vector<HookUpdate> updates;
  if (const auto part = decode_synchronize(bytes)) {
    for (const auto& pod : part->inventory.pods) {
      require(!pod.id.empty(), "a pod has an id");
      check(pod);
    }
    for (const auto& container : part->inventory.containers) {
      require(!container.id.empty(), "a container has an id");
      check(container.resources);
      updates.push_back({container.id, container.resources});
    }
  }
  if (const auto pod = decode_pod_request(bytes)) {
    require(!pod->pod.id.empty(), "a pod has an id");
    check(pod->pod);
  }
  for (const auto& request : {decode_container_request(bytes), decode_update_request(bytes)}) {
    if (!request) continue;
    require(!request->pod.id.empty() && !request->container.id.empty(), "both have an id");
    check(request->pod);
    check(request->container.resources);
    check(request->asked);
    updates.push_back({request->container.id, request->container.resources});
    updates.push_back({request->container.id, request->asked});
  }
  if (const auto change = decode_state_change(bytes)) check(change->container.resources);
  check_updates(updates, bound);
  static_cast<void>(encode_updates(updates));
  static_cast<void>(encode_update_containers(updates));
  return 0;
}
