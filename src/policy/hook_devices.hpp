#pragma once

#include "policy/hook_values.hpp"

/// Devices that the scheduler gave to a pod (hooks reference 12, 13).
namespace koordlet::policy {

/// NVIDIA_VISIBLE_DEVICES, and for a share of a GPU under HAMi-core the limits and the library that
/// keeps them. Several GPUs: the smallest share counts for all, as the library knows one limit.
/// What the container already preloads stays behind it.
Result<HookAdjustment> gpu_values(const HookSubject& subject);

/// Device nodes of the virtual functions. kNotFound: the machine has no such device.
Result<HookAdjustment> rdma_values(const HookSubject& subject, const HookWorld& world);

}  // namespace koordlet::policy
