#pragma once

#include <cstdint>
#include <string>

namespace koordlet::test {

/// A writer process that appends, seals and rolls up as fast as it can is killed (SIGKILL) at a
/// random moment, the store is opened and read, and the next writer goes on, `rounds` times.
struct KillRounds {
  int killed = 0;
  std::uint64_t acknowledged = 0;  ///< batches whose append had returned
  std::uint64_t lost = 0;       ///< of them not found afterwards, the last of each round included
  std::uint64_t seals_cut = 0;  ///< rounds that ended inside a step of sealing or rolling up
  std::string fault;            ///< why it ended early, or empty
};
KillRounds run_kill_rounds(const std::string& folder, int rounds, unsigned seed);

}  // namespace koordlet::test
