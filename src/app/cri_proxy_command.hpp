#pragma once

#include <chrono>
#include <string>

#include "base/result.hpp"

namespace koordlet::app {

struct CriProxyOptions {
  std::string listen = "/run/koordlet/cri.sock";            ///< what kubelet connects to
  std::string runtime = "/run/containerd/containerd.sock";  ///< where its calls go
  std::chrono::milliseconds grace{5'000};                   ///< for calls that run at the end
};
/// kInvalid with one line: a path that is not absolute or longer than 107 bytes, both the same, a
/// grace above 10 minutes.
Result<void> check(const CriProxyOptions& options);

/// `koordlet cri-proxy`: every call that comes goes to the runtime, byte for byte, until SIGTERM or
/// SIGINT; then those that run may end. Needs neither the daemon nor its configuration. The error
/// is that of the socket.
Result<void> run_cri_proxy(const CriProxyOptions& options);

}  // namespace koordlet::app
