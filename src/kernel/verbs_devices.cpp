#include "kernel/verbs_devices.hpp"

#include <filesystem>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <system_error>

namespace koordlet::kernel {
namespace {

namespace fs = std::filesystem;
constexpr const char* kPrefix = "uverbs";

/// nullopt: no character device.
std::optional<DeviceNode> node_of(const HostRoots& roots, const std::string& name) {
  struct stat found {};
  if (::stat((roots.dev + "/infiniband/" + name).c_str(), &found) != 0) return std::nullopt;
  if (!S_ISCHR(found.st_mode)) return std::nullopt;
  return DeviceNode{"/dev/infiniband/" + name, major(found.st_rdev), minor(found.st_rdev)};
}

/// "0000:1f:00.2": domain, bus, device, function.
bool is_pci_address(const std::string& text) {
  constexpr std::string_view kShape = "xxxx:xx:xx.x";
  if (text.size() != kShape.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (kShape[i] == 'x' ? !hex : text[i] != kShape[i]) return false;
  }
  return true;
}

}  // namespace

VerbsDevices read_verbs_devices(const HostRoots& roots) {
  VerbsDevices out;
  out.connection_manager = node_of(roots, "rdma_cm");
  std::error_code ec;
  for (fs::directory_iterator at{roots.sys + "/class/infiniband_verbs", ec}, end; !ec && at != end;
       at.increment(ec)) {
    const auto name = at->path().filename().string();
    if (!name.starts_with(kPrefix)) continue;  // "abi_version" stands beside them
    std::error_code no_link;
    const auto pci = fs::read_symlink(at->path() / "device", no_link).filename().string();
    if (no_link || !is_pci_address(pci)) continue;
    if (auto node = node_of(roots, name)) out.by_pci.emplace(pci, std::move(*node));
  }
  return out;
}

}  // namespace koordlet::kernel
