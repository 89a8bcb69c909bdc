#include "policy/hook_devices.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace koordlet::policy {
namespace {

constexpr const char* kIsolation = "koordinator.sh/gpu-isolation-provider";
constexpr const char* kHami = "HAMi-core";
constexpr const char* kLibrary = "/usr/local/vgpu/libvgpu.so";
constexpr const char* kLock = "/tmp/vgpulock";  // the library's own place for it

template <class T>
std::optional<T> least(const std::vector<GpuShare>& gpus, std::optional<T> GpuShare::*field) {
  std::optional<T> out;
  for (const auto& gpu : gpus) {
    const auto& value = gpu.*field;
    if (value && (!out || *value < *out)) out = value;
  }
  return out;
}

std::string preload(const HookContainer& given) {
  std::string own;
  for (const auto& e : given.env) {
    if (e.name == "LD_PRELOAD") own = e.value;
  }
  if (own.find(kLibrary) != std::string::npos) return own;
  return own.empty() ? std::string{kLibrary} : fmt::format("{}:{}", kLibrary, own);
}

HookMount bind(const char* path) { return {path, "bind", path, {"rbind"}}; }

/// /dev/infiniband/...: whoever got the device may use it.
constexpr std::uint32_t kDeviceMode = 0666;

HookDevice open_to_all(HookDevice device) {
  device.mode = kDeviceMode;
  return device;
}

}  // namespace

Result<HookAdjustment> gpu_values(const HookSubject& s) {
  if (!s.annotations.gpus) return s.annotations.gpus.error();
  const auto& gpus = *s.annotations.gpus;
  HookAdjustment out;
  if (gpus.empty()) return out;
  std::string minors;
  for (const auto& gpu : gpus) minors += fmt::format("{}{}", minors.empty() ? "" : ",", gpu.minor);
  out.env.push_back({"NVIDIA_VISIBLE_DEVICES", minors});

  const auto label = s.pod.labels.find(kIsolation);
  if (label == s.pod.labels.end() || label->second != kHami) return out;
  const auto share = least(gpus, &GpuShare::memory_percent);
  if (!share || *share >= 100) return out;  // whole GPUs: nothing to keep apart
  if (const auto memory = least(gpus, &GpuShare::memory))
    out.env.push_back({"CUDA_DEVICE_MEMORY_LIMIT", std::to_string(memory->v)});
  if (const auto core = least(gpus, &GpuShare::core_percent))
    out.env.push_back({"CUDA_DEVICE_SM_LIMIT", std::to_string(*core)});
  out.env.push_back({"LD_PRELOAD", preload(s.given)});
  out.mounts.push_back(bind(kLibrary));
  out.mounts.push_back(bind(kLock));
  return out;
}

Result<HookAdjustment> rdma_values(const HookSubject& s, const HookWorld& world) {
  if (!s.annotations.rdma) return s.annotations.rdma.error();
  HookAdjustment out;
  if (s.annotations.rdma->empty()) return out;
  if (!world.rdma_cm) {
    return Error{Errc::kNotFound, "rdma: no connection manager device (rdma_cm) on this machine"};
  }
  out.devices.push_back(open_to_all(*world.rdma_cm));
  for (const auto& id : *s.annotations.rdma) {
    const auto device = world.rdma.find(id);
    if (device == world.rdma.end())
      return Error{Errc::kNotFound, fmt::format("rdma: {}: no verbs device of this PCI id", id)};
    out.devices.push_back(open_to_all(device->second));
  }
  return out;
}

}  // namespace koordlet::policy
