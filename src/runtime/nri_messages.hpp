#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/hook.hpp"

/// Bytes of NRI messages to values and back. In all of them: a number 0 and an empty CPU list mean
/// "not said", a number below 0 "unlimited". kParse: no such message, a pod or a container without
/// an id, or a list of CPUs that is none.
namespace koordlet::runtime {

std::string encode_register(const std::string& name, const std::string& index);

struct NriConfigure {
  std::string runtime_name{};
  std::string runtime_version{};
  std::optional<std::chrono::milliseconds> request_timeout{};  ///< for the plugin to answer
};
Result<NriConfigure> decode_configure(std::string_view bytes);
std::string encode_configure(std::uint32_t events);

struct NriSyncPart {
  HookInventory inventory{};
  std::size_t damaged = 0;  ///< entries that had to be left out
  bool more = false;        ///< further parts follow
};
/// Its pods and containers, not read yet: thousands take longer than one handler may.
struct NriSyncEntries {
  std::vector<std::string> pods{}, containers{};
  bool more = false;   ///< further parts follow
  std::size_t at = 0;  ///< the next one, pods first
};
Result<NriSyncEntries> decode_sync_entries(std::string_view bytes);
/// Reads up to `most` further entries onto `out`; true: there are more.
bool take_entries(NriSyncEntries& from, std::size_t most, NriSyncPart& out);
/// All at once.
Result<NriSyncPart> decode_synchronize(std::string_view bytes);
/// The first `count` updates.
std::string encode_synchronize(const std::vector<HookUpdate>& updates,
                               std::size_t count,
                               bool more);
/// How many updates, from the first on, take at most `bytes`.
std::size_t updates_within(const std::vector<HookUpdate>& updates, std::size_t bytes);

struct NriRequest {
  HookPod pod{};
  HookContainer container{};
  HookResources asked{};  ///< of UpdateContainer: as the container shall be
  int event = 0;          ///< of StateChange
};
Result<NriRequest> decode_pod_request(std::string_view bytes);
Result<NriRequest> decode_container_request(std::string_view bytes);
Result<NriRequest> decode_update_request(std::string_view bytes);
/// A part that the event does not have is empty.
Result<NriRequest> decode_state_change(std::string_view bytes);

std::string encode_creation(const HookAdjustment& adjustment,
                            const std::vector<HookUpdate>& updates);
std::string encode_updates(const std::vector<HookUpdate>& updates);  ///< the answer to an event

std::string encode_update_containers(const std::vector<HookUpdate>& updates);
/// How many of the updates failed.
Result<std::size_t> decode_update_containers(std::string_view bytes);

}  // namespace koordlet::runtime
