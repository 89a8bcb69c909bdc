#include <limits>
#include <nri.pb.h>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "net/protobuf.hpp"
#include "runtime/hook_decode.hpp"
#include "runtime/nri_messages.hpp"
#include "runtime/nri_resources.hpp"

namespace koordlet::runtime {
namespace {

using net::parse_message;

Result<HookPod> pod_of(const nri::PodSandbox& in) {
  if (in.id().empty()) return Error{Errc::kParse, "pod: expected an id"};
  HookPod out;
  out.id = in.id();
  out.uid = in.uid();
  out.ns = in.namespace_();
  out.name = in.name();
  out.labels = {in.labels().begin(), in.labels().end()};
  out.annotations = {in.annotations().begin(), in.annotations().end()};
  out.runtime_handler = in.runtime_handler();
  out.cgroup_parent = path_of(in.linux().cgroup_parent());
  const auto where = "pod " + printable(in.id(), kShown);
  auto overhead = resources_of(in.linux().pod_overhead());
  if (!overhead) return wrap(where, overhead.error());
  auto resources = resources_of(in.linux().pod_resources());
  if (!resources) return wrap(where, resources.error());
  out.overhead = std::move(*overhead);
  out.resources = std::move(*resources);
  return out;
}

HookContainer::State state_of(int number) {
  using State = HookContainer::State;
  constexpr State kStates[] = {
      State::kUnknown, State::kCreated, State::kPaused, State::kRunning, State::kStopped};
  return number >= 0 && number < static_cast<int>(std::size(kStates)) ? kStates[number]
                                                                      : State::kUnknown;
}

Result<HookContainer> container_of(const nri::Container& in) {
  if (in.id().empty()) return Error{Errc::kParse, "container: expected an id"};
  HookContainer out;
  out.id = in.id();
  out.pod_id = in.pod_sandbox_id();
  out.name = in.name();
  out.state = state_of(in.state());
  out.labels = {in.labels().begin(), in.labels().end()};
  out.annotations = {in.annotations().begin(), in.annotations().end()};
  for (const auto& env : in.env()) {
    const auto equals = env.find('=');
    const bool valued = equals != std::string::npos;
    out.env.push_back({env.substr(0, equals), valued ? env.substr(equals + 1) : std::string{}});
  }
  auto resources = resources_of(in.linux().resources());
  if (!resources) return wrap("container " + printable(in.id(), kShown), resources.error());
  out.resources = std::move(*resources);
  if (in.linux().has_oom_score_adj()) out.oom_score_adj = in.linux().oom_score_adj().value();
  out.cgroups_path = in.linux().cgroups_path();
  if (in.pid() != 0) out.pid = in.pid();
  return out;
}

/// The parts that every request with a pod and a container has; both must be there.
template <class Message>
Result<NriRequest> both_of(const Message& in) {
  NriRequest out;
  auto pod = pod_of(in.pod());
  if (!pod) return pod.error();
  auto container = container_of(in.container());
  if (!container) return container.error();
  out.pod = std::move(*pod);
  out.container = std::move(*container);
  return out;
}

/// false: left out.
template <class Message, class Value>
bool take(const std::string& bytes,
          Result<Value> (*read)(const Message&),
          std::vector<Value>& out) {
  Message in;
  if (!parse_message(in, bytes)) return false;
  auto value = read(in);
  if (!value) return false;
  out.push_back(std::move(*value));
  return true;
}

}  // namespace

Result<NriConfigure> decode_configure(std::string_view bytes) {
  nri::ConfigureRequest in;
  if (!parse_message(in, bytes)) return no_such_message("ConfigureRequest");
  NriConfigure out;
  out.runtime_name = printable(in.runtime_name(), kShown);
  out.runtime_version = printable(in.runtime_version(), kShown);
  if (in.request_timeout() > 0)
    out.request_timeout = std::chrono::milliseconds{in.request_timeout()};
  return out;
}

Result<NriSyncEntries> decode_sync_entries(std::string_view bytes) {
  nri::SynchronizeRequest in;
  if (!parse_message(in, bytes)) return no_such_message("SynchronizeRequest");
  NriSyncEntries out;
  out.more = in.more();
  for (auto& pod : *in.mutable_pods()) out.pods.push_back(std::move(pod));
  for (auto& container : *in.mutable_containers()) out.containers.push_back(std::move(container));
  return out;
}

bool take_entries(NriSyncEntries& from, std::size_t most, NriSyncPart& out) {
  const auto count = from.pods.size() + from.containers.size();
  out.more = from.more;
  for (; most > 0 && from.at < count; --most, ++from.at) {
    const auto n = from.at;
    const bool sound =
        n < from.pods.size()
            ? take(from.pods[n], &pod_of, out.inventory.pods)
            : take(from.containers[n - from.pods.size()], &container_of, out.inventory.containers);
    if (!sound) ++out.damaged;
  }
  return from.at < count;
}

Result<NriSyncPart> decode_synchronize(std::string_view bytes) {
  auto entries = decode_sync_entries(bytes);
  if (!entries) return entries.error();
  NriSyncPart out;
  take_entries(*entries, std::numeric_limits<std::size_t>::max(), out);
  return out;
}

Result<NriRequest> decode_pod_request(std::string_view bytes) {
  nri::PodRequest in;
  if (!parse_message(in, bytes)) return no_such_message("with a pod");
  auto pod = pod_of(in.pod());
  if (!pod) return pod.error();
  NriRequest out;
  out.pod = std::move(*pod);
  return out;
}

Result<NriRequest> decode_container_request(std::string_view bytes) {
  nri::ContainerRequest in;
  if (!parse_message(in, bytes)) return no_such_message("with a pod and a container");
  return both_of(in);
}

Result<NriRequest> decode_update_request(std::string_view bytes) {
  nri::UpdateContainerRequest in;
  if (!parse_message(in, bytes)) return no_such_message("UpdateContainerRequest");
  auto out = both_of(in);
  if (!out) return out;
  auto asked = resources_of(in.linux_resources());
  if (!asked) return wrap("linux_resources", asked.error());
  out->asked = std::move(*asked);
  return out;
}

Result<NriRequest> decode_state_change(std::string_view bytes) {
  nri::StateChangeEvent in;
  if (!parse_message(in, bytes)) return no_such_message("StateChangeEvent");
  NriRequest out;
  out.event = in.event();
  if (in.has_pod()) {
    auto pod = pod_of(in.pod());
    if (!pod) return pod.error();
    out.pod = std::move(*pod);
  }
  if (in.has_container()) {
    auto container = container_of(in.container());
    if (!container) return container.error();
    out.container = std::move(*container);
  }
  return out;
}

Result<std::size_t> decode_update_containers(std::string_view bytes) {
  nri::UpdateContainersResponse in;
  if (!parse_message(in, bytes)) return no_such_message("UpdateContainersResponse");
  return static_cast<std::size_t>(in.failed_size());
}

}  // namespace koordlet::runtime
