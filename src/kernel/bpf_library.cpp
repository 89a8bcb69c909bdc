#include "kernel/bpf_library.hpp"

#include <algorithm>
#include <bpf/libbpf.h>
#include <cerrno>
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <sys/utsname.h>

#include <fmt/format.h>

#include "base/parse.hpp"

namespace koordlet::kernel {
namespace {

constexpr std::size_t kLongestMessage = 300;

thread_local BpfMessages* current = nullptr;

int on_message(libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN || current == nullptr) return 0;
  // The verifier's log may have megabytes; its end, which matters, is cut off beyond this.
  char text[16'384];
  const int size = std::vsnprintf(text, sizeof text, format, arguments);
  if (size > 0) current->add({text, std::min<std::size_t>(size, sizeof text - 1)});
  return 0;
}

std::string one_line(std::string_view text) {
  std::string out{trim(text.substr(0, std::min(text.size(), kLongestMessage)))};
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out;
}

/// The last line of a verifier log that is neither a register state nor a statistic.
std::string verdict_of(std::string_view log) {
  std::string out;
  while (const auto line = next_line(log)) {
    const auto text = trim(*line);
    const bool noise = text.empty() || text.front() == ';' || text.starts_with("processed ") ||
                       text.starts_with("-- END") || text.starts_with("libbpf: ") ||
                       (text.front() >= '0' && text.front() <= '9') || text.starts_with("verif") ||
                       text.starts_with("stack depth") || text.starts_with("mark_precise") ||
                       text.starts_with("from ");
    if (!noise) out = one_line(text);
  }
  return out;
}

Errc code_of(int err) {
  switch (err) {
    case EPERM:
      return Errc::kDenied;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EAGAIN:
    case EINTR:
      return Errc::kBusy;
    default:
      return Errc::kNotSupported;
  }
}

}  // namespace

BpfMessages::BpfMessages() {
  static const auto before = libbpf_set_print(on_message);
  static_cast<void>(before);
  current = this;
}

BpfMessages::~BpfMessages() { current = nullptr; }

void BpfMessages::add(std::string_view message) {
  if (first_.empty()) {
    first_ = one_line(message.starts_with("libbpf: ") ? message.substr(8) : message);
  }
  if (message.find("-- BEGIN PROG LOAD LOG --") != std::string_view::npos && verdict_.empty()) {
    verdict_ = verdict_of(message);
  }
}

Error BpfMessages::error(int err, std::string_view subject, std::string_view action) const {
  const int number = err < 0 ? -err : err;
  Error out = errno_error(number, subject, action);
  out.code = code_of(number);
  if (!first_.empty()) out.context += ": " + first_;
  if (!verdict_.empty()) out.context += ": " + verdict_;
  return out;
}

KernelVersion parse_kernel_version(std::string_view release) {
  KernelVersion out;
  const char* const end = release.data() + release.size();
  const auto major = std::from_chars(release.data(), end, out.major);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return {};
  const auto minor = std::from_chars(major.ptr + 1, end, out.minor);
  if (minor.ec != std::errc{} || out.major < 0 || out.minor < 0) return {};
  return out;
}

KernelVersion running_kernel() {
  utsname names{};
  return ::uname(&names) == 0 ? parse_kernel_version(names.release) : KernelVersion{};
}

}  // namespace koordlet::kernel
