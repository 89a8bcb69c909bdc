#include "modules/metric_advisor/host_application.hpp"

#include <fmt/format.h>

namespace koordlet {
namespace {

Result<std::string> base_dir(const std::string& base, const kernel::CgroupLayout& layout) {
  if (base == "CgroupRoot") return std::string{};
  if (base == "Kubepods") return layout.kubepods().str();
  if (base == "KubepodsBurstable") return layout.tier(KubeQos::kBurstable).str();
  if (base == "KubepodsBesteffort") return layout.tier(KubeQos::kBestEffort).str();
  return Error{Errc::kRange,
               fmt::format("cgroupPath.base: expected CgroupRoot, Kubepods, KubepodsBurstable or "
                           "KubepodsBesteffort, "
                           "got '{}'",
                           base)};
}

std::string class_dir(const std::string& qos) {
  if (qos == "LSE" || qos == "LSR" || qos == "LS") return "host-latency-sensitive";
  if (qos == "BE") return "host-best-effort";
  return {};
}

}  // namespace

Result<CgroupPath> host_application_path(const HostApplication& app,
                                         const kernel::CgroupLayout& layout) {
  std::string text;
  const auto append = [&text](const std::string& part) {
    if (part.empty()) return;
    if (!text.empty()) text += '/';
    text += part;
  };
  if (app.base.empty()) {
    append(class_dir(app.qos));
    append(app.name);
  } else {
    const auto base = base_dir(app.base, layout);
    if (!base) return wrap(app.name, base.error());
    append(*base);
    append(app.parent_dir);
    append(app.relative_path);
  }
  auto path = CgroupPath::parse(text);
  if (!path) return wrap(app.name, path.error());
  if (path->is_root())
    return Error{Errc::kRange, fmt::format("{}: expected a cgroup below the root", app.name)};
  return path;
}

}  // namespace koordlet
