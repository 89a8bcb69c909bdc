#include "kernel/cgroup_layout.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace koordlet::kernel {
namespace {

constexpr std::size_t kMaxComponent = 255;  // NAME_MAX
constexpr std::string_view kSlice = ".slice";
constexpr std::string_view kScope = ".scope";
constexpr std::string_view kCrioPrefix = "crio-";
constexpr std::string_view kConmon = "conmon-";

struct Runtime {
  std::string_view name;
  std::string_view prefix;
};
constexpr std::array<Runtime, 4> kRuntimes{{{"containerd", "cri-containerd-"},
                                            {"docker", "docker-"},
                                            {"cri-o", kCrioPrefix},
                                            {"pouch", "pouch-"}}};

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool is_uid(std::string_view uid) {
  return !uid.empty() && uid.size() <= 253 &&
         std::all_of(uid.begin(), uid.end(), [](char c) { return is_alnum(c) || c == '-'; });
}
bool is_id(std::string_view id) {
  return !id.empty() && id.size() <= 128 && std::all_of(id.begin(), id.end(), [](char c) {
    return is_alnum(c) || c == '-' || c == '_';
  });
}
bool is_full_id(std::string_view id) {
  return id.size() == 64 && std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

bool cut_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}
bool cut_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

/// What stands before the uid in the name of a pod's directory.
std::string_view pod_prefix(CgroupDriver driver, KubeQos qos) {
  if (driver == CgroupDriver::kCgroupfs) return "pod";
  switch (qos) {
    case KubeQos::kGuaranteed:
      return "kubepods-pod";
    case KubeQos::kBurstable:
      return "kubepods-burstable-pod";
    case KubeQos::kBestEffort:
      break;
  }
  return "kubepods-besteffort-pod";
}

/// A name longer than the file system takes is refused like a wrong letter.
Result<CgroupPath> below(const CgroupPath& parent, const std::string& name, std::string_view what) {
  if (name.size() <= kMaxComponent) return parent.child(name);
  return Error{Errc::kRange,
               fmt::format("{}: expected a directory name of at most {} bytes, got {}",
                           what,
                           kMaxComponent,
                           name.size())};
}

}  // namespace

CgroupPath CgroupLayout::kubepods() const {
  return CgroupPath{}.child(driver_ == CgroupDriver::kSystemd ? "kubepods.slice" : "kubepods");
}

CgroupPath CgroupLayout::tier(KubeQos qos) const {
  const bool systemd = driver_ == CgroupDriver::kSystemd;
  switch (qos) {
    case KubeQos::kGuaranteed:
      break;
    case KubeQos::kBurstable:
      return kubepods().child(systemd ? "kubepods-burstable.slice" : "burstable");
    case KubeQos::kBestEffort:
      return kubepods().child(systemd ? "kubepods-besteffort.slice" : "besteffort");
  }
  return kubepods();
}

Result<CgroupPath> CgroupLayout::pod(KubeQos qos, std::string_view uid) const {
  if (!is_uid(uid)) {
    return Error{
        Errc::kRange,
        fmt::format("pod uid: expected [A-Za-z0-9-]{{1,253}}, got '{}'", uid.substr(0, 80))};
  }
  std::string name{pod_prefix(driver_, qos)};
  name += uid;
  if (driver_ == CgroupDriver::kSystemd) {
    // A dash in a slice name means nesting, so the kubelet writes the uid with underscores.
    std::replace(name.end() - static_cast<std::ptrdiff_t>(uid.size()), name.end(), '-', '_');
    name += kSlice;
  }
  return below(tier(qos), name, "pod uid");
}

Result<CgroupPath> CgroupLayout::container(const CgroupPath& pod,
                                           std::string_view runtime,
                                           std::string_view id) const {
  const auto known = std::find_if(
      kRuntimes.begin(), kRuntimes.end(), [&](const Runtime& r) { return r.name == runtime; });
  if (known == kRuntimes.end()) {
    return Error{Errc::kRange,
                 fmt::format("container runtime: expected containerd, docker, cri-o or pouch, got "
                             "'{}'",
                             runtime.substr(0, 80))};
  }
  if (!is_id(id)) {
    return Error{
        Errc::kRange,
        fmt::format("container id: expected [A-Za-z0-9_-]{{1,128}}, got '{}'", id.substr(0, 80))};
  }
  if (driver_ == CgroupDriver::kCgroupfs) return below(pod, std::string{id}, "container id");
  return below(pod, fmt::format("{}{}{}", known->prefix, id, kScope), "container id");
}

std::optional<CgroupLayout::PodDir> CgroupLayout::parse_pod_dir(KubeQos tier,
                                                                std::string_view name) const {
  if (!cut_prefix(name, pod_prefix(driver_, tier))) return std::nullopt;
  if (driver_ == CgroupDriver::kCgroupfs) {
    if (!is_uid(name)) return std::nullopt;
    return PodDir{tier, std::string{name}};
  }
  if (!cut_suffix(name, kSlice) || name.find('-') != std::string_view::npos) return std::nullopt;
  std::string uid{name};
  std::replace(uid.begin(), uid.end(), '_', '-');
  if (!is_uid(uid)) return std::nullopt;
  return PodDir{tier, std::move(uid)};
}

std::optional<std::string> CgroupLayout::parse_container_dir(std::string_view name,
                                                             bool strict) const {
  if (driver_ == CgroupDriver::kCgroupfs) {
    if (is_full_id(name)) return std::string{name};
    if (strict || !is_id(name)) return std::nullopt;  // "init.scope", "x.mount": no dot in an id
    if (name.starts_with(kConmon) || name.starts_with("crio-conmon-")) return std::nullopt;
    return std::string{name};
  }
  for (const auto& runtime : kRuntimes) {
    auto id = name;
    if (!cut_prefix(id, runtime.prefix)) continue;
    const bool scope = cut_suffix(id, kScope);
    const bool crio = runtime.prefix == kCrioPrefix;
    if (!scope && !crio) return std::nullopt;
    if (crio && id.starts_with(kConmon)) return std::nullopt;
    if (!is_id(id)) return std::nullopt;
    return std::string{id};
  }
  return std::nullopt;
}

}  // namespace koordlet::kernel
