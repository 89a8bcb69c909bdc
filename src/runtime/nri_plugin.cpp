#include "runtime/nri_plugin.hpp"

#include <algorithm>
#include <exception>
#include <iterator>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "net/grpc_status.hpp"
#include "runtime/nri_check.hpp"

namespace koordlet::runtime {
using std::chrono::milliseconds;
namespace {

constexpr std::string_view kSynchronize = "Synchronize";
constexpr std::string_view kService = "nri.pkg.api.v1alpha1.Plugin";
constexpr milliseconds kMostBudget{200};
constexpr std::size_t kShown = 200;

constexpr const char* kNames[] = {"RunPodSandbox",
                                  "StopPodSandbox",
                                  "RemovePodSandbox",
                                  "CreateContainer",
                                  "PostCreateContainer",
                                  "StartContainer",
                                  "PostStartContainer",
                                  "UpdateContainer",
                                  "PostUpdateContainer",
                                  "StopContainer",
                                  "RemoveContainer"};  // event 1 first

std::optional<HookEvent> event_of(int number) {
  switch (number) {
    case 1:
      return HookEvent::kRunPod;
    case 2:
      return HookEvent::kStopPod;
    case 3:
      return HookEvent::kRemovePod;
    case 5:
      return HookEvent::kPostCreateContainer;
    case 6:
      return HookEvent::kStartContainer;
    case 7:
      return HookEvent::kPostStartContainer;
    case 9:
      return HookEvent::kPostUpdateContainer;
    case 11:
      return HookEvent::kRemoveContainer;
    default:
      return std::nullopt;
  }
}

bool is_of_pod(HookEvent event) {
  return event == HookEvent::kRunPod || event == HookEvent::kStopPod ||
         event == HookEvent::kRemovePod;
}

/// What a hook throws, as an error.
template <class F>
auto caught(F run) -> decltype(run()) {
  try {
    return run();
  } catch (const std::exception& e) {
    return Error{Errc::kIo, e.what()};
  } catch (...) {
    return Error{Errc::kIo, "unknown failure"};
  }
}

}  // namespace

Result<std::uint32_t> parse_nri_events(std::string_view names) {
  std::uint32_t out = 0;
  while (!names.empty()) {
    const auto comma = std::min(names.find(','), names.size());
    const auto name = trim(names.substr(0, comma));
    names.remove_prefix(std::min(comma + 1, names.size()));
    const auto at = std::find(std::begin(kNames), std::end(kNames), name);
    if (at == std::end(kNames)) {
      return Error{Errc::kParse,
                   fmt::format("events: expected names like CreateContainer, got '{}'",
                               printable(name, kShown))};
    }
    out |= 1u << (at - std::begin(kNames));
  }
  if (out == 0) return Error{Errc::kParse, "events: expected at least one"};
  return out;
}

struct NriPlugin::Method {
  std::string_view name;
  Payload (*run)(NriPlugin& self, std::string_view in);
  /// Hooks by the policy. Without Configure and Synchronize there is no connection: the runtime
  /// hears of their faults.
  bool hook = true;
};

void NriPlugin::begin() {
  runtime_ = {};
  parts_.reset();
  sync_.reset();
  synchronized_ = false;
  shut_down_ = false;
  updates_.clear();
}

milliseconds NriPlugin::budget() const {
  auto out = std::min(options_.hook_timeout, kMostBudget);
  if (runtime_.request_timeout) out = std::min(out, *runtime_.request_timeout / 4);
  return out;
}

std::optional<net::TtrpcResponse> NriPlugin::begin_answer(const net::TtrpcRequest& request) {
  using P = NriPlugin;
  using In = std::string_view;
  static constexpr Method kMethods[] = {
      {"Configure", [](P& p, In in) { return p.configure(in); }, false},
      {"Shutdown", [](P& p, In in) { return p.shutdown(in); }, false},
      {"CreateContainer", [](P& p, In in) { return p.create_container(in); }},
      {"UpdateContainer", [](P& p, In in) { return p.update_container(in); }},
      {"StopContainer", [](P& p, In in) { return p.stop_container(in); }},
      {"StateChange", [](P& p, In in) { return p.state_change(in); }},
      {"RunPodSandbox", [](P& p, In in) { return p.pod_event(HookEvent::kRunPod, in); }},
      {"StopPodSandbox", [](P& p, In in) { return p.pod_event(HookEvent::kStopPod, in); }},
      {"RemovePodSandbox", [](P& p, In in) { return p.pod_event(HookEvent::kRemovePod, in); }},
      {"PostCreateContainer",
       [](P& p, In in) { return p.container_event(HookEvent::kPostCreateContainer, in); }},
      {"StartContainer",
       [](P& p, In in) { return p.container_event(HookEvent::kStartContainer, in); }},
      {"PostStartContainer",
       [](P& p, In in) { return p.container_event(HookEvent::kPostStartContainer, in); }},
      {"PostUpdateContainer",
       [](P& p, In in) { return p.container_event(HookEvent::kPostUpdateContainer, in); }},
      {"RemoveContainer",
       [](P& p, In in) { return p.container_event(HookEvent::kRemoveContainer, in); }},
  };
  ++counters_.requests;
  const auto began = clock_.now();
  if (request.service == kService && request.method == kSynchronize) {
    const auto ok = begin_sync(request.payload);
    if (ok) return std::nullopt;
    return respond(kSynchronize, false, began, ok.error());
  }
  const auto* const method = std::find_if(
      std::begin(kMethods), std::end(kMethods), [&](auto& m) { return m.name == request.method; });
  if (request.service != kService || method == std::end(kMethods)) {
    ++counters_.unknown;
    return net::TtrpcResponse{
        net::kStatusUnimplemented, request.service + "/" + request.method + ": unknown", {}};
  }
  return respond(method->name, method->hook, began, guarded(*method, request.payload));
}

net::TtrpcResponse NriPlugin::answer(const net::TtrpcRequest& request) {
  auto out = begin_answer(request);
  while (!out) out = step();
  return std::move(*out);
}

std::optional<net::TtrpcResponse> NriPlugin::step() {
  const auto began = sync_->began;
  protocol_fault_ = false;
  std::optional<Payload> done;
  const auto run = [&]() -> Result<void> {
    done = sync_step();
    return {};
  };
  if (const auto ok = caught(run); !ok) done = ok.error();
  if (!done) return std::nullopt;
  sync_.reset();
  return respond(kSynchronize, false, began, std::move(*done));
}

net::TtrpcResponse NriPlugin::respond(std::string_view method,
                                      bool hook,
                                      MonoTime began,
                                      Payload payload) {
  if (clock_.now() - began > budget()) ++counters_.late;
  if (payload) return {net::kStatusOk, {}, std::move(*payload)};
  const auto why = fmt::format("{}: {}", method, printable(payload.error().context, kShown));
  counters_.last_failure = why;
  if (!protocol_fault_) ++counters_.failures;
  const bool ignored = options_.policy == HookFailurePolicy::kIgnore;
  // An empty message changes nothing, whatever the call.
  if (ignored && hook) return {};
  return {protocol_fault_ ? net::kStatusInvalidArgument : net::kStatusInternal, why, {}};
}

NriPlugin::Payload NriPlugin::guarded(const Method& method, std::string_view in) {
  protocol_fault_ = false;
  return caught([&] { return method.run(*this, in); });
}

NriPlugin::Payload NriPlugin::configure(std::string_view in) {
  auto asked = counted(decode_configure(in));
  if (!asked) return asked.error();
  runtime_ = std::move(*asked);
  return encode_configure(options_.events);
}

NriPlugin::Payload NriPlugin::shutdown(std::string_view) {
  shut_down_ = true;
  return std::string{};
}

NriPlugin::Payload NriPlugin::create_container(std::string_view in) {
  const auto request = counted(decode_container_request(in));
  if (!request) return request.error();
  const auto out = events_.create_container(request->pod, request->container);
  if (!out) return out.error();
  if (const auto ok = check_adjustment(out->adjustment); !ok) return ok.error();
  if (const auto ok = check_updates(out->updates, request->container.id); !ok) return ok.error();
  return encode_creation(out->adjustment, out->updates);
}

NriPlugin::Payload NriPlugin::update_container(std::string_view in) {
  const auto request = counted(decode_update_request(in));
  if (!request) return request.error();
  const auto out = events_.update_container(request->pod, request->container, request->asked);
  if (!out) return out.error();
  if (const auto ok = check_updates(*out); !ok) return ok.error();
  return encode_updates(*out);
}

NriPlugin::Payload NriPlugin::stop_container(std::string_view in) {
  const auto request = counted(decode_container_request(in));
  if (!request) return request.error();
  updates_.forget(request->container.id);
  const auto out = events_.stop_container(request->pod, request->container);
  if (!out) return out.error();
  if (const auto ok = check_updates(*out); !ok) return ok.error();
  return encode_updates(*out);
}

NriPlugin::Payload NriPlugin::tell(HookEvent event, const NriRequest& request) {
  const bool of_pod = is_of_pod(event);
  if (event == HookEvent::kRemoveContainer) updates_.forget(request.container.id);
  const auto ok = events_.happened(event, request.pod, of_pod ? nullptr : &request.container);
  if (!ok) return ok.error();
  return std::string{};
}

NriPlugin::Payload NriPlugin::pod_event(HookEvent event, std::string_view in) {
  const auto request = counted(decode_pod_request(in));
  if (!request) return request.error();
  return tell(event, *request);
}

NriPlugin::Payload NriPlugin::container_event(HookEvent event, std::string_view in) {
  const auto request = counted(decode_container_request(in));
  if (!request) return request.error();
  return tell(event, *request);
}

NriPlugin::Payload NriPlugin::state_change(std::string_view in) {
  auto request = counted(decode_state_change(in));
  if (!request) return request.error();
  const auto event = event_of(request->event);
  if (!event) {
    ++counters_.unknown;
    return std::string{};
  }
  const bool whole =
      !request->pod.id.empty() && (is_of_pod(*event) || !request->container.id.empty());
  if (whole) return tell(*event, *request);
  return counted(
      Payload{Error{Errc::kParse, std::string{to_string(*event)} + ": expected what it is about"}});
}

}  // namespace koordlet::runtime
