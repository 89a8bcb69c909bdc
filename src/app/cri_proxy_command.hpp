#pragma once

#include <chrono>
#include <string>

#include "base/result.hpp"

namespace koordlet::app {

struct CriProxyOptions {
  std::string listen = "/run/koordlet/cri.sock";            ///< what kubelet connects to
  std::string runtime = "/run/containerd/containerd.sock";  ///< where its calls go
  std::string hooks = "/run/koordlet/cri-hooks.sock";       ///< where the daemon connects; "": none
  std::chrono::milliseconds hook_timeout{2'000};            ///< for it to answer; 10 ms to 30 s
  std::chrono::milliseconds grace{5'000};                   ///< for calls that run at the end
};
/// kInvalid with one line: a path that is not absolute or longer than 107 bytes, two the same, a
/// time out of its range (grace: at most 10 minutes).
Result<void> check(const CriProxyOptions& options);

/// `koordlet cri-proxy`: every call that comes goes to the runtime until SIGTERM or SIGINT; then
/// those that run may end. The daemon is asked about starts of pods and containers while it is
/// there; all else, and all while it is away, passes byte for byte. The error is that of a socket.
Result<void> run_cri_proxy(const CriProxyOptions& options);

}  // namespace koordlet::app
