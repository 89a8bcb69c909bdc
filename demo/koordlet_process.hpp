#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "daemon_process.hpp"
#include "options.hpp"

namespace koordlet::demo {

/// The daemon of the demo, with a private folder for its manifests, state, config and socket.
class KoordletProcess {
 public:
  /// The manifests of the demo with the node's size put in; kNotFound when they are not there.
  static Result<std::unique_ptr<KoordletProcess>> make(const Options& options, int node_cpu_milli);
  ~KoordletProcess();  ///< stops it and removes the folder
  KoordletProcess(const KoordletProcess&) = delete;
  KoordletProcess& operator=(const KoordletProcess&) = delete;

  DaemonProcess& daemon() { return *daemon_; }
  std::string socket() const { return (folder_ / "koordlet.sock").string(); }

 private:
  explicit KoordletProcess(std::filesystem::path folder) : folder_{std::move(folder)} {}
  std::filesystem::path folder_;
  std::optional<DaemonProcess> daemon_;
};

}  // namespace koordlet::demo
