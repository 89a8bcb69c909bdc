#pragma once

#include <functional>
#include <string>

#include "app/command_line.hpp"
#include "base/result.hpp"
#include "net/http_server.hpp"

namespace koordlet::app {

/// What a command wrote and its exit code; main prints it.
struct CommandOutput {
  int exit_code = 0;
  std::string out;
  std::string err;
};

/// (method, target) -> answer of the daemon. A seam for tests.
using Ask = std::function<Result<net::HttpResponse>(const std::string&, const std::string&)>;
Ask ask_socket(const std::string& socket);

/// status, pods, explain.
CommandOutput run_client(const CommandLine& command, const std::string& socket, const Ask& ask);

/// Text of an answer that is not 200: the problem's detail, or its status.
std::string problem_text(const net::HttpResponse& response);

}  // namespace koordlet::app
