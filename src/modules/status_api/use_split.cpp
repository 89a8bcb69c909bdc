#include "modules/status_api/use_split.hpp"

#include <algorithm>

namespace koordlet::status_api {

UseSplit use_split(const std::optional<NodeSignals>& signals) {
  UseSplit out;
  if (!signals) return out;
  const auto floored = [](std::int64_t v) { return std::max<std::int64_t>(v, 0); };
  out.node = signals->node_used.v;
  out.host_apps = signals->host_app_used.v;
  if (signals->be_used) out.be = signals->be_used->v + signals->be_outside_used.v;
  if (signals->kubepods_used) {
    const auto pods = signals->kubepods_used->v;
    if (out.be) out.ls = floored(pods - *out.be);
    out.system = floored(*out.node - pods - *out.host_apps);
  }
  return out;
}

}  // namespace koordlet::status_api
