#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include <boost/json/value.hpp>

#include "base/result.hpp"

namespace koordlet::demo {

/// One koordlet as a child process. It ends with its parent.
class DaemonProcess {
 public:
  struct Files {
    std::string program;
    std::string config;  ///< --config
    std::string socket;  ///< as the config says
    std::string log;     ///< stdout and stderr are appended here
  };
  explicit DaemonProcess(Files files) : files_{std::move(files)} {}
  ~DaemonProcess();  ///< SIGTERM, and SIGKILL after 10 s
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  /// Starts it and waits until it is ready; the error holds its log.
  Result<void> start(std::chrono::seconds patience = std::chrono::seconds{60});
  bool running();
  /// Sends the signal and waits; the exit code (128 + signal when it was killed), nullopt after
  /// `grace`.
  std::optional<int> end(int signal, std::chrono::seconds grace);
  /// GET over its socket; nullopt unless the answer is JSON with status 200.
  std::optional<boost::json::value> get(const std::string& target) const;
  std::string log() const;

 private:
  Files files_;
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

/// Runs `program arguments...` to its end with stdout and stderr together in `output`; the exit
/// code.
int run_program(const std::string& program,
                const std::vector<std::string>& arguments,
                std::string& output);

}  // namespace koordlet::demo
