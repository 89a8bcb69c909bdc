#include "koordlet_process.hpp"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <sys/sysinfo.h>

#include <fmt/format.h>

namespace koordlet::demo {
namespace {

namespace fs = std::filesystem;

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

std::string memory_of_this_machine() {
  struct sysinfo info {};
  return sysinfo(&info) == 0 ? fmt::format("{}Ki", info.totalram * info.mem_unit / 1024) : "1Gi";
}

Result<void> copy_manifests(const std::string& from, const fs::path& to, int node_cpu_milli) {
  fs::create_directories(to);
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator{from, ec}) {
    std::ostringstream text;
    text << std::ifstream{entry.path()}.rdbuf();
    auto body = text.str();
    replace_all(body, "@NODE_CPU@", fmt::format("{}m", node_cpu_milli));
    replace_all(body, "@NODE_MEMORY@", memory_of_this_machine());
    std::ofstream{to / entry.path().filename()} << body;
  }
  if (ec) return Error{Errc::kNotFound, fmt::format("{}: {}", from, ec.message())};
  return {};
}

}  // namespace

Result<std::unique_ptr<KoordletProcess>> KoordletProcess::make(const Options& options,
                                                               int node_cpu_milli) {
  std::string pattern = (fs::temp_directory_path() / "koordlet-demo-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return errno_error(errno, pattern, "mkdtemp");
  std::unique_ptr<KoordletProcess> out{new KoordletProcess{pattern}};
  const auto copied = copy_manifests(options.manifests, out->folder_ / "manifests", node_cpu_milli);
  if (!copied) return copied.error();
  const auto config = out->folder_ / "koordlet.toml";
  std::ofstream{config} << fmt::format(
      "[states]\nfolder = \"{0}/manifests\"\n[store]\nfolder = \"{0}/state\"\n[status]\nsocket = "
      "\"{0}/koordlet.sock\"\n"
      "[collect]\ninterval = \"10s\"\n[executor]\ndry_run = {1}\n"
      "[interference]\nls_interval = \"{2}s\"\n",
      out->folder_.string(),
      options.dry_run,
      options.window_s);
  out->daemon_.emplace(DaemonProcess::Files{
      options.koordlet, config.string(), out->socket(), (out->folder_ / "koordlet.log").string()});
  return out;
}

KoordletProcess::~KoordletProcess() {
  daemon_.reset();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace koordlet::demo
