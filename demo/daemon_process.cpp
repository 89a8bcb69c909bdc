#include "daemon_process.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <signal.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <fmt/format.h>

#include "net/http_server.hpp"

namespace koordlet::demo {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

[[noreturn]] void exec(const std::string& program,
                       const std::vector<std::string>& arguments,
                       int output) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  setpgid(0, 0);  // Ctrl-C reaches the parent only, which then stops the child in order
  dup2(output, 1);
  dup2(output, 2);
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  _exit(127);
}

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

DaemonProcess::~DaemonProcess() {
  if (running() && !end(SIGTERM, seconds{10})) static_cast<void>(end(SIGKILL, seconds{10}));
}

Result<void> DaemonProcess::start(seconds patience) {
  const int output = open(files_.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (output < 0) return errno_error(errno, files_.log, "open");
  exit_code_.reset();
  pid_ = fork();
  if (pid_ == 0) exec(files_.program, {"run", "--config", files_.config}, output);
  close(output);
  if (pid_ < 0) return errno_error(errno, files_.program, "fork");
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < deadline) {
    if (!running()) {
      return Error{
          Errc::kIo,
          fmt::format("koordlet ended at its start with {}:\n{}", exit_code_.value_or(-1), log())};
    }
    const auto ready = net::unix_request(files_.socket, "GET", "/readyz", seconds{2});
    if (ready && ready->status == 200) return {};
    std::this_thread::sleep_for(milliseconds{50});
  }
  return Error{Errc::kBusy,
               fmt::format("koordlet was not ready within {} s:\n{}", patience.count(), log())};
}

bool DaemonProcess::running() {
  if (pid_ <= 0) return false;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return true;
  exit_code_ = code_of(status);
  pid_ = -1;
  return false;
}

std::optional<int> DaemonProcess::end(int signal, seconds grace) {
  if (!running()) return exit_code_;
  kill(pid_, signal);
  const auto deadline = std::chrono::steady_clock::now() + grace;
  while (running()) {
    if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(milliseconds{10});
  }
  return exit_code_;
}

std::optional<boost::json::value> DaemonProcess::get(const std::string& target) const {
  const auto answer = net::unix_request(files_.socket, "GET", target, seconds{2});
  if (!answer || answer->status != 200) return std::nullopt;
  boost::system::error_code ec;
  auto value = boost::json::parse(answer->body, ec);
  if (ec) return std::nullopt;
  return value;
}

std::string DaemonProcess::log() const {
  std::ostringstream out;
  out << std::ifstream{files_.log}.rdbuf();
  return out.str();
}

int run_program(const std::string& program,
                const std::vector<std::string>& arguments,
                std::string& output) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  const pid_t pid = fork();
  if (pid == 0) exec(program, arguments, ends[1]);
  close(ends[1]);
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    output.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return -1;
  return code_of(status);
}

}  // namespace koordlet::demo
