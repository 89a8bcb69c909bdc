#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/toml_fields.hpp"
#include "sim/timeline.hpp"

namespace koordlet::app {

/// Readers of the parts of a scenario file; faults go to the list given at the start.
class ScenarioFields {
 public:
  ScenarioFields(const std::string& file, std::vector<ConfigFault>& faults)
      : file_{file}, faults_{faults} {}
  TomlFields of(const toml::table& table, std::string path) {
    return TomlFields{table, std::move(path), file_, faults_};
  }

  std::vector<sim::DiskSpec> disks(TomlFields& top);
  /// [node_slo]: `spec` goes through the decoder of the real object; what it refuses is a fault.
  std::optional<sim::TimedSlo> node_slo(TomlFields& top);
  std::vector<sim::PodGroup> groups(TomlFields& top, const std::vector<sim::DiskSpec>& disks);
  std::vector<sim::Event> events(TomlFields& top, const std::vector<sim::PodGroup>& groups);
  std::vector<sim::Expectation> expectations(TomlFields& top);
  sim::Limits limits(TomlFields& top);
  std::optional<sim::Claims> claims(TomlFields& top);

 private:
  sim::PodGroup group(TomlFields fields, const std::vector<sim::DiskSpec>& disks);
  std::optional<sim::IoUse> io(TomlFields& group, const std::vector<sim::DiskSpec>& disks);
  void demand(TomlFields& group, sim::Demand& out);
  void curve(TomlFields fields, sim::Demand& out);
  void steps(TomlFields& fields, sim::Demand& out);

  const std::string& file_;
  std::vector<ConfigFault>& faults_;
};

}  // namespace koordlet::app
