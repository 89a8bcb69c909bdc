#pragma once

#include <string_view>

#include <boost/json/value.hpp>

namespace koordlet::k8s {

/// True when both say the same: members and list entries in any order, CPU lists (members "cpuset",
/// "reservedCPUs") and quantities (members "capacity", "allocatable", "available") by value. An
/// object that is written anew for another order only is work for everybody who watches it.
bool same_json(const boost::json::value& a, const boost::json::value& b);
/// The same for texts; texts that are not JSON are compared byte by byte.
bool same_json_text(std::string_view a, std::string_view b);

}  // namespace koordlet::k8s
