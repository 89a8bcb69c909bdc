#include "runtime/nri_requests.hpp"

#include <nri.pb.h>
#include <utility>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "net/protobuf.hpp"
#include "runtime/hook_decode.hpp"
#include "runtime/nri_resources.hpp"

namespace koordlet::runtime {
namespace {

using net::parse_message;
constexpr std::size_t kEntryPrefix = 6;  // tag and length of an entry below 4 MiB, at most

int number_of(HookEvent event) {
  switch (event) {
    case HookEvent::kRunPod:
      return 1;
    case HookEvent::kStopPod:
      return 2;
    case HookEvent::kRemovePod:
      return 3;
    case HookEvent::kPostCreateContainer:
      return 5;
    case HookEvent::kStartContainer:
      return 6;
    case HookEvent::kPostStartContainer:
      return 7;
    case HookEvent::kPostUpdateContainer:
      return 9;
    case HookEvent::kRemoveContainer:
      return 11;
  }
  return 0;
}

template <class Map>
void fill_map(Map& out, const std::map<std::string, std::string>& in) {
  for (const auto& [key, value] : in) out[key] = value;
}

void fill(nri::PodSandbox& out, const HookPod& in) {
  out.set_id(in.id);
  out.set_name(in.name);
  out.set_uid(in.uid);
  out.set_namespace_(in.ns);
  fill_map(*out.mutable_labels(), in.labels);
  fill_map(*out.mutable_annotations(), in.annotations);
  out.set_runtime_handler(in.runtime_handler);
  auto& lin = *out.mutable_linux();
  if (in.cgroup_parent) lin.set_cgroup_parent("/" + in.cgroup_parent->str());
  if (in.overhead != HookResources{}) runtime::fill(*lin.mutable_pod_overhead(), in.overhead);
  if (in.resources != HookResources{}) runtime::fill(*lin.mutable_pod_resources(), in.resources);
}

void fill(nri::Container& out, const HookContainer& in) {
  out.set_id(in.id);
  out.set_pod_sandbox_id(in.pod_id);
  out.set_name(in.name);
  out.set_state(static_cast<int>(in.state));  // HookContainer::State has NRI's order
  fill_map(*out.mutable_labels(), in.labels);
  fill_map(*out.mutable_annotations(), in.annotations);
  for (const auto& env : in.env) out.add_env(env.name + "=" + env.value);
  auto& lin = *out.mutable_linux();
  runtime::fill(*lin.mutable_resources(), in.resources);
  if (in.oom_score_adj) lin.mutable_oom_score_adj()->set_value(*in.oom_score_adj);
  lin.set_cgroups_path(in.cgroups_path);
  if (in.pid) out.set_pid(*in.pid);
}

/// Both as the parts of a request that has them.
template <class Message>
Message with_both(const HookPod& pod, const HookContainer& container) {
  Message out;
  fill(*out.mutable_pod(), pod);
  fill(*out.mutable_container(), container);
  return out;
}

Result<HookUpdate> update_of(const nri::ContainerUpdate& in) {
  HookUpdate out;
  out.container_id = in.container_id();
  out.ignore_failure = in.ignore_failure();
  auto resources = resources_of(in.linux().resources());
  if (!resources)
    return wrap("update of container " + printable(in.container_id(), kShown), resources.error());
  out.resources = std::move(*resources);
  return out;
}

template <class Message>
Result<std::vector<HookUpdate>> updates_of(const Message& in) {
  std::vector<HookUpdate> out;
  for (const auto& item : in.update()) {
    auto update = update_of(item);
    if (!update) return update.error();
    out.push_back(std::move(*update));
  }
  return out;
}

Result<HookDevice> device_of(const nri::LinuxDevice& in) {
  if (in.type().size() != 1) {
    return Error{Errc::kParse,
                 fmt::format("device {}: type '{}': expected one letter",
                             printable(in.path(), kShown),
                             printable(in.type(), kShown))};
  }
  HookDevice out;
  out.path = in.path();
  out.type = in.type().front();
  out.major = in.major();
  out.minor = in.minor();
  if (in.has_file_mode()) out.mode = in.file_mode().value();
  return out;
}

Result<HookAdjustment> adjustment_of(const nri::ContainerAdjustment& in) {
  HookAdjustment out;
  out.annotations = {in.annotations().begin(), in.annotations().end()};
  for (const auto& env : in.env()) out.env.push_back({env.key(), env.value()});
  for (const auto& mount : in.mounts()) {
    out.mounts.push_back({mount.destination(),
                          mount.type(),
                          mount.source(),
                          {mount.options().begin(), mount.options().end()}});
  }
  for (const auto& item : in.linux().devices()) {
    auto device = device_of(item);
    if (!device) return device.error();
    out.devices.push_back(std::move(*device));
  }
  auto resources = resources_of(in.linux().resources());
  if (!resources) return resources.error();
  out.resources = std::move(*resources);
  if (in.linux().has_oom_score_adj()) out.oom_score_adj = in.linux().oom_score_adj().value();
  return out;
}

/// Puts entries behind one another into messages of at most so many bytes.
class Parts {
 public:
  explicit Parts(std::size_t most) : most_{most} {}
  void add_pod(const HookPod& in) {
    nri::PodSandbox pod;
    fill(pod, in);
    room_for(pod.ByteSizeLong());
    current_.add_pods(pod.SerializeAsString());
  }
  void add_container(const HookContainer& in) {
    nri::Container container;
    fill(container, in);
    room_for(container.ByteSizeLong());
    current_.add_containers(container.SerializeAsString());
  }
  std::vector<std::string> end() {
    done_.push_back(current_.SerializeAsString());
    return std::move(done_);
  }

 private:
  void room_for(std::size_t entry) {
    if (bytes_ > 0 && bytes_ + entry + kEntryPrefix > most_) {
      current_.set_more(true);
      done_.push_back(current_.SerializeAsString());
      current_ = {};
      bytes_ = 0;
    }
    bytes_ += entry + kEntryPrefix;
  }
  std::size_t most_;
  std::size_t bytes_ = 0;
  nri::SynchronizeRequest current_;
  std::vector<std::string> done_;
};

}  // namespace

std::string encode_configure_request(const std::string& runtime_name,
                                     const std::string& runtime_version,
                                     std::chrono::milliseconds request_timeout) {
  nri::ConfigureRequest out;
  out.set_runtime_name(runtime_name);
  out.set_runtime_version(runtime_version);
  out.set_request_timeout(request_timeout.count());
  return out.SerializeAsString();
}

std::vector<std::string> encode_synchronize_parts(const HookInventory& inventory,
                                                  std::size_t most) {
  Parts out{most};
  for (const auto& pod : inventory.pods) out.add_pod(pod);
  for (const auto& container : inventory.containers) out.add_container(container);
  return out.end();
}

std::string encode_container_request(const HookPod& pod, const HookContainer& container) {
  return with_both<nri::ContainerRequest>(pod, container).SerializeAsString();
}

std::string encode_update_request(const HookPod& pod,
                                  const HookContainer& container,
                                  const HookResources& asked) {
  auto out = with_both<nri::UpdateContainerRequest>(pod, container);
  fill(*out.mutable_linux_resources(), asked);
  return out.SerializeAsString();
}

std::string encode_state_change(HookEvent event,
                                const HookPod& pod,
                                const HookContainer* container) {
  nri::StateChangeEvent out;
  out.set_event(number_of(event));
  fill(*out.mutable_pod(), pod);
  if (container != nullptr) fill(*out.mutable_container(), *container);
  return out.SerializeAsString();
}

std::uint32_t bit_of(HookEvent event) { return 1u << (number_of(event) - 1); }

Result<NriRegistration> decode_register(std::string_view bytes) {
  nri::RegisterPluginRequest in;
  if (!parse_message(in, bytes)) return no_such_message("RegisterPluginRequest");
  if (in.plugin_name().empty()) return Error{Errc::kParse, "plugin_name: expected a name"};
  return NriRegistration{printable(in.plugin_name(), kShown), printable(in.plugin_idx(), kShown)};
}

Result<std::uint32_t> decode_configure_answer(std::string_view bytes) {
  nri::ConfigureResponse in;
  if (!parse_message(in, bytes)) return no_such_message("ConfigureResponse");
  const auto events = static_cast<std::uint32_t>(in.events());
  return events == 0 ? ~0u : events;
}

Result<NriCreation> decode_creation(std::string_view bytes) {
  nri::CreateContainerResponse in;
  if (!parse_message(in, bytes)) return no_such_message("CreateContainerResponse");
  auto adjustment = adjustment_of(in.adjust());
  if (!adjustment) return wrap("adjust", adjustment.error());
  auto updates = updates_of(in);
  if (!updates) return updates.error();
  return NriCreation{std::move(*adjustment), std::move(*updates)};
}

Result<std::vector<HookUpdate>> decode_updates(std::string_view bytes) {
  nri::UpdateResponse in;
  if (!parse_message(in, bytes)) return no_such_message("with updates of containers");
  return updates_of(in);
}

std::string encode_failed_updates(const std::vector<HookUpdate>& failed) {
  nri::UpdateContainersResponse out;
  for (const auto& update : failed) {
    auto& to = *out.add_failed();
    to.set_container_id(update.container_id);
    fill(*to.mutable_linux()->mutable_resources(), update.resources);
    to.set_ignore_failure(update.ignore_failure);
  }
  return out.SerializeAsString();
}

}  // namespace koordlet::runtime
