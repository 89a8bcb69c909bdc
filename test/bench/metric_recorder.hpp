#pragma once

#include <chrono>
#include <string>

namespace koordlet::bench {

/// Samples this machine each second into a CSV file: `second,<series>,...`, whole numbers in the
/// units that koordlet stores: milli-cores, bytes, bytes/s and events/s. /proc/stat, /proc/meminfo,
/// /proc/diskstats, /proc/net/dev and up to 24 cgroups (version 1 or 2). The series are those of
/// the first second; one that cannot be read stays empty. Counters become rates, so the first line
/// comes after two seconds. False: the file cannot be written.
bool record_machine(const std::string& file, std::chrono::seconds length);

}  // namespace koordlet::bench
