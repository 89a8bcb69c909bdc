#pragma once

#include "base/result.hpp"
#include "model/hook.hpp"

namespace koordlet::nri {
class LinuxResources;
}

/// LinuxResources of NRI, the one message that goes both ways. Pure.
namespace koordlet::runtime {

/// A part that has nothing to say is left out: an empty message may mean something.
void fill(nri::LinuxResources& out, const HookResources& in);
/// kParse: a list of CPUs or nodes that is none.
Result<HookResources> resources_of(const nri::LinuxResources& in);

}  // namespace koordlet::runtime
