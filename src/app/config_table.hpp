#pragma once

#include <cstdint>
#include <vector>

#include "app/setting_kinds.hpp"

/// The table of all keys, in parts. Seen by the config_table*.cpp files only.
namespace koordlet::app {

constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;
constexpr std::int64_t kGiB = 1024 * kMiB;

/// A member of Config by its path.
#define KOORDLET_AT(member) \
  [](auto& c) -> auto& { return c.member; }

void add_control_plane(std::vector<Setting>& out);  ///< [api] [kubelet] [report]
void add_interference(std::vector<Setting>& out);   ///< [collect] [interference]
void add_pressure(std::vector<Setting>& out);       ///< [qos.pressure]
void add_eviction(std::vector<Setting>& out);       ///< [qos.evict] and the rules
void add_levers(std::vector<Setting>& out);  ///< [qos.resctrl] [qos.blkio] [qos.system], identity
void add_idle_buffer(std::vector<Setting>& out);  ///< [qos.idle_buffer]
void add_burst(std::vector<Setting>& out);        ///< [qos.burst]
void add_memory(std::vector<Setting>& out);       ///< [qos.memory_qos] [qos.memory_soften]
void add_hooks(std::vector<Setting>& out);        ///< [hooks]
void add_predict(std::vector<Setting>& out);      ///< [predict]
void add_recorder(std::vector<Setting>& out);     ///< [recorder]

}  // namespace koordlet::app
