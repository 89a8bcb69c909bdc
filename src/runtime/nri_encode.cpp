#include <nri.pb.h>

#include "runtime/nri_messages.hpp"
#include "runtime/nri_resources.hpp"

namespace koordlet::runtime {
namespace {

constexpr std::size_t kEntryPrefix = 6;  // tag and length of an entry below 4 MiB, at most

nri::ContainerUpdate message_of(const HookUpdate& in) {
  nri::ContainerUpdate out;
  out.set_container_id(in.container_id);
  runtime::fill(*out.mutable_linux()->mutable_resources(), in.resources);
  out.set_ignore_failure(in.ignore_failure);
  return out;
}

template <class Message>
std::string with_updates(Message out, const std::vector<HookUpdate>& updates, std::size_t count) {
  for (std::size_t i = 0; i < count && i < updates.size(); ++i)
    *out.add_update() = message_of(updates[i]);
  return out.SerializeAsString();
}

void fill(nri::LinuxContainerAdjustment& out, const HookAdjustment& in) {
  for (const auto& device : in.devices) {
    auto& to = *out.add_devices();
    to.set_path(device.path);
    to.set_type(std::string(1, device.type));
    to.set_major(device.major);
    to.set_minor(device.minor);
    if (device.mode) to.mutable_file_mode()->set_value(*device.mode);
  }
  if (in.resources != HookResources{}) runtime::fill(*out.mutable_resources(), in.resources);
  if (in.oom_score_adj) out.mutable_oom_score_adj()->set_value(*in.oom_score_adj);
}

void fill(nri::ContainerAdjustment& out, const HookAdjustment& in) {
  for (const auto& [key, value] : in.annotations) (*out.mutable_annotations())[key] = value;
  for (const auto& mount : in.mounts) {
    auto& to = *out.add_mounts();
    to.set_destination(mount.destination);
    to.set_type(mount.type);
    to.set_source(mount.source);
    for (const auto& option : mount.options) to.add_options(option);
  }
  for (const auto& env : in.env) {
    auto& to = *out.add_env();
    to.set_key(env.name);
    to.set_value(env.value);
  }
  if (!in.devices.empty() || in.oom_score_adj || in.resources != HookResources{})
    fill(*out.mutable_linux(), in);
}

}  // namespace

std::string encode_register(const std::string& name, const std::string& index) {
  nri::RegisterPluginRequest out;
  out.set_plugin_name(name);
  out.set_plugin_idx(index);
  return out.SerializeAsString();
}

std::string encode_configure(std::uint32_t events) {
  nri::ConfigureResponse out;
  out.set_events(static_cast<std::int32_t>(events));
  return out.SerializeAsString();
}

std::string encode_synchronize(const std::vector<HookUpdate>& updates,
                               std::size_t count,
                               bool more) {
  nri::SynchronizeResponse out;
  out.set_more(more);
  return with_updates(std::move(out), updates, count);
}

std::size_t updates_within(const std::vector<HookUpdate>& updates, std::size_t bytes) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < updates.size(); ++i) {
    sum += message_of(updates[i]).ByteSizeLong() + kEntryPrefix;
    if (sum > bytes) return i;
  }
  return updates.size();
}

std::string encode_creation(const HookAdjustment& adjustment,
                            const std::vector<HookUpdate>& updates) {
  nri::CreateContainerResponse out;
  if (adjustment != HookAdjustment{}) fill(*out.mutable_adjust(), adjustment);
  return with_updates(std::move(out), updates, updates.size());
}

std::string encode_updates(const std::vector<HookUpdate>& updates) {
  return with_updates(nri::UpdateResponse{}, updates, updates.size());
}

std::string encode_update_containers(const std::vector<HookUpdate>& updates) {
  return with_updates(nri::UpdateContainersRequest{}, updates, updates.size());
}

}  // namespace koordlet::runtime
