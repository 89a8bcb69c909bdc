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

/// The runtime's side of NRI: what it asks as bytes, what a plugin answers as values. The other
/// direction is nri_messages.hpp. Numbers 0 and below 0 mean the same there and here. kParse: no
/// such message, or a value that is none.
namespace koordlet::runtime {

std::string encode_configure_request(const std::string& runtime_name,
                                     const std::string& runtime_version,
                                     std::chrono::milliseconds request_timeout);
/// The inventory in messages of `most` bytes at most (an entry larger than that alone in one); all
/// but the last say that more follow. Never empty.
std::vector<std::string> encode_synchronize_parts(const HookInventory& inventory, std::size_t most);
std::string encode_container_request(const HookPod& pod, const HookContainer& container);
std::string encode_update_request(const HookPod& pod,
                                  const HookContainer& container,
                                  const HookResources& asked);
/// `container` nullptr where the event is a pod's.
std::string encode_state_change(HookEvent event,
                                const HookPod& pod,
                                const HookContainer* container);
std::uint32_t bit_of(HookEvent event);  ///< in the mask of decode_configure_answer()

struct NriRegistration {
  std::string name;
  std::string index;
};
Result<NriRegistration> decode_register(std::string_view bytes);
/// The events that the plugin wants: bit n - 1 for event n. 0 on the wire means all of them.
Result<std::uint32_t> decode_configure_answer(std::string_view bytes);

struct NriCreation {
  HookAdjustment adjustment{};
  std::vector<HookUpdate> updates{};
};
Result<NriCreation> decode_creation(std::string_view bytes);
/// Of UpdateContainer, StopContainer, the last part of Synchronize, and of what the plugin itself
/// asks with UpdateContainers.
Result<std::vector<HookUpdate>> decode_updates(std::string_view bytes);
/// The answer to UpdateContainers: those of the updates that failed.
std::string encode_failed_updates(const std::vector<HookUpdate>& failed);

}  // namespace koordlet::runtime
