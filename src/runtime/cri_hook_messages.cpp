#include "runtime/cri_hook_messages.hpp"

#include <cri.pb.h>
#include <iterator>

#include <fmt/format.h>

#include "net/protobuf.hpp"
#include "runtime/hook_decode.hpp"

namespace koordlet::runtime {
namespace {

using std::chrono::microseconds;
constexpr std::int64_t kUnlimited = -1;  // as container runtimes spell it

template <class Message>
Result<Message> parsed(std::string_view bytes, const char* name) {
  Message out;
  if (!net::parse_message(out, bytes)) return no_such_message(name);
  return out;
}

Result<HookResources> resources_of(const cri::LinuxContainerResources& in) {
  HookResources out;
  if (in.cpu_shares() > 0) out.cpu_shares = static_cast<std::uint64_t>(in.cpu_shares());
  out.cpu_quota = limit_of<microseconds>(in.cpu_quota());
  if (in.cpu_period() > 0) out.cpu_period = microseconds{in.cpu_period()};
  if (const auto ok = read_set(out.cpus, in.cpuset_cpus(), "cpuset_cpus"); !ok) return ok.error();
  if (const auto ok = read_set(out.mems, in.cpuset_mems(), "cpuset_mems"); !ok) return ok.error();
  out.memory_limit = limit_of<Bytes>(in.memory_limit_in_bytes());
  out.memory_swap_limit = limit_of<Bytes>(in.memory_swap_limit_in_bytes());
  out.unified = {in.unified().begin(), in.unified().end()};
  return out;
}

Result<HookPod> pod_of(const cri::PodSandboxConfig& in) {
  HookPod out;
  out.uid = in.metadata().uid();
  out.ns = in.metadata().namespace_();
  out.name = in.metadata().name();
  out.labels = {in.labels().begin(), in.labels().end()};
  out.annotations = {in.annotations().begin(), in.annotations().end()};
  out.cgroup_parent = path_of(in.linux().cgroup_parent());
  auto overhead = resources_of(in.linux().overhead());
  if (!overhead) return wrap("pod overhead", overhead.error());
  auto resources = resources_of(in.linux().resources());
  if (!resources) return wrap("pod resources", resources.error());
  out.overhead = std::move(*overhead);
  out.resources = std::move(*resources);
  return out;
}

std::int64_t bytes_of(const Limit<Bytes>& limit) {
  return limit.bound() ? limit.bound()->v : kUnlimited;
}

/// false: there is nothing to say.
bool fill(cri::LinuxContainerResources& out, const HookResources& in) {
  if (in.cpu_shares) out.set_cpu_shares(static_cast<std::int64_t>(*in.cpu_shares));
  if (in.cpu_quota)
    out.set_cpu_quota(in.cpu_quota->bound() ? in.cpu_quota->bound()->count() : kUnlimited);
  if (in.cpu_period) out.set_cpu_period(in.cpu_period->count());
  if (in.cpus) out.set_cpuset_cpus(in.cpus->to_string());
  if (in.mems) out.set_cpuset_mems(in.mems->to_string());
  if (in.memory_limit) out.set_memory_limit_in_bytes(bytes_of(*in.memory_limit));
  if (in.memory_swap_limit) out.set_memory_swap_limit_in_bytes(bytes_of(*in.memory_swap_limit));
  for (const auto& [file, content] : in.unified) (*out.mutable_unified())[file] = content;
  return out.ByteSizeLong() > 0;
}

const Error& no_resctrl() {
  static const Error kError{Errc::kNotSupported, "rdt_class: the CRI has no such field"};
  return kError;
}

}  // namespace

Result<HookPod> parse_run_pod_sandbox(std::string_view message) {
  const auto in = parsed<cri::RunPodSandboxRequest>(message, "RunPodSandboxRequest");
  if (!in) return in.error();
  auto out = pod_of(in->config());
  if (out) out->runtime_handler = in->runtime_handler();
  return out;
}

Result<CriCreateContainer> parse_create_container(std::string_view message) {
  const auto in = parsed<cri::CreateContainerRequest>(message, "CreateContainerRequest");
  if (!in) return in.error();
  CriCreateContainer out;
  auto pod = pod_of(in->sandbox_config());
  if (!pod) return pod.error();
  out.pod = std::move(*pod);
  out.pod.id = in->pod_sandbox_id();
  auto& container = out.container;
  const auto& config = in->config();
  container.pod_id = in->pod_sandbox_id();
  container.name = config.metadata().name();
  container.labels = {config.labels().begin(), config.labels().end()};
  container.annotations = {config.annotations().begin(), config.annotations().end()};
  for (const auto& env : config.envs()) container.env.push_back({env.key(), env.value()});
  const auto& linux_resources = config.linux().resources();
  auto resources = resources_of(linux_resources);
  if (!resources) return wrap("container resources", resources.error());
  container.resources = std::move(*resources);
  if (config.linux().has_resources()) container.oom_score_adj = linux_resources.oom_score_adj();
  return out;
}

Result<std::string> adjusted_create_container(std::string message, const HookAdjustment& answer) {
  if (!answer.mounts.empty()) return Error{Errc::kNotSupported, "mounts: not through the CRI"};
  if (!answer.devices.empty()) return Error{Errc::kNotSupported, "devices: not through the CRI"};
  if (answer.resources.rdt_class) return no_resctrl();
  cri::CreateContainerRequest piece;
  cri::LinuxContainerResources resources;
  bool says = fill(resources, answer.resources);
  if (answer.oom_score_adj) {
    resources.set_oom_score_adj(*answer.oom_score_adj);
    says = true;
  }
  if (says) *piece.mutable_config()->mutable_linux()->mutable_resources() = std::move(resources);
  for (const auto& [key, value] : answer.annotations)
    (*piece.mutable_config()->mutable_annotations())[key] = value;
  for (const auto& env : answer.env) {
    auto& to = *piece.mutable_config()->add_envs();
    to.set_key(env.name);
    to.set_value(env.value);
  }
  if (!piece.AppendToString(&message)) return Error{Errc::kIo, "the answer cannot be written"};
  return message;
}

Result<CriUpdateContainer> parse_update_container(std::string_view message) {
  const auto in =
      parsed<cri::UpdateContainerResourcesRequest>(message, "UpdateContainerResourcesRequest");
  if (!in) return in.error();
  if (in->container_id().empty()) return Error{Errc::kParse, "container_id: expected an id"};
  CriUpdateContainer out;
  out.container_id = in->container_id();
  auto resources = resources_of(in->linux());
  if (!resources) return wrap("resources", resources.error());
  out.resources = std::move(*resources);
  // An update that leaves it alone says 0, too.
  if (in->linux().oom_score_adj() != 0) out.oom_score_adj = in->linux().oom_score_adj();
  return out;
}

Result<std::string> adjusted_update_container(std::string message, const HookResources& answer) {
  if (answer.rdt_class) return no_resctrl();
  cri::UpdateContainerResourcesRequest piece;
  cri::LinuxContainerResources resources;
  if (fill(resources, answer)) *piece.mutable_linux() = std::move(resources);
  if (!piece.AppendToString(&message)) return Error{Errc::kIo, "the answer cannot be written"};
  return message;
}

Result<std::string> parse_id(std::string_view message) {
  const auto in = parsed<cri::IdMessage>(message, "with an id");
  if (!in) return in.error();
  if (in->id().empty()) return Error{Errc::kParse, "expected an id"};
  return in->id();
}

std::string encode_id(const std::string& id) {
  cri::IdMessage out;
  out.set_id(id);
  return out.SerializeAsString();
}

Result<std::vector<HookPod>> parse_pod_list(std::string_view message) {
  const auto in = parsed<cri::ListPodSandboxResponse>(message, "ListPodSandboxResponse");
  if (!in) return in.error();
  std::vector<HookPod> out;
  for (const auto& item : in->items()) {
    if (item.id().empty()) continue;
    HookPod pod;
    pod.id = item.id();
    pod.uid = item.metadata().uid();
    pod.ns = item.metadata().namespace_();
    pod.name = item.metadata().name();
    pod.labels = {item.labels().begin(), item.labels().end()};
    pod.annotations = {item.annotations().begin(), item.annotations().end()};
    pod.runtime_handler = item.runtime_handler();
    out.push_back(std::move(pod));
  }
  return out;
}

Result<std::vector<HookContainer>> parse_container_list(std::string_view message) {
  const auto in = parsed<cri::ListContainersResponse>(message, "ListContainersResponse");
  if (!in) return in.error();
  using State = HookContainer::State;
  constexpr State kStates[] = {State::kCreated, State::kRunning, State::kStopped};
  std::vector<HookContainer> out;
  for (const auto& item : in->containers()) {
    if (item.id().empty()) continue;
    HookContainer container;
    container.id = item.id();
    container.pod_id = item.pod_sandbox_id();
    container.name = item.metadata().name();
    const bool known = item.state() >= 0 && item.state() < static_cast<int>(std::size(kStates));
    container.state = known ? kStates[item.state()] : State::kUnknown;
    container.labels = {item.labels().begin(), item.labels().end()};
    container.annotations = {item.annotations().begin(), item.annotations().end()};
    out.push_back(std::move(container));
  }
  return out;
}

Result<CriContainerStatus> parse_container_status(std::string_view message) {
  const auto in = parsed<cri::ContainerStatusResponse>(message, "ContainerStatusResponse");
  if (!in) return in.error();
  CriContainerStatus out;
  if (!in->status().resources().has_linux()) return out;
  const auto& said = in->status().resources().linux();
  auto resources = resources_of(said);
  if (!resources) return resources.error();
  out.resources = std::move(*resources);
  out.oom_score_adj = said.oom_score_adj();
  return out;
}

Result<std::string> encode_update_container(const std::string& id, const HookResources& resources) {
  return adjusted_update_container(encode_id(id), resources);
}

}  // namespace koordlet::runtime
