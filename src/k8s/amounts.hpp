#pragma once

#include <optional>
#include <string_view>

#include "base/units.hpp"
#include "k8s/fields.hpp"

/// Entries of a resource list. What is not a quantity, or is negative, is refused; absent is
/// nullopt.
namespace koordlet::k8s {

std::optional<MilliCpu> cpu_amount(const Fields& list, std::string_view key);
/// batch-cpu and mid-cpu: a plain number of milli-cores.
std::optional<MilliCpu> milli_amount(const Fields& list, std::string_view key);
std::optional<Bytes> memory_amount(const Fields& list, std::string_view key);

}  // namespace koordlet::k8s
