#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "base/result.hpp"

/// What the users of libbpf share. Programs are loaded by their skeletons (cmake/Bpf.cmake).
namespace koordlet::kernel {

/// While it lives, what libbpf says in this thread is kept here instead of going to stderr; outside
/// of one it goes nowhere. Not nested.
class BpfMessages {
 public:
  BpfMessages();
  ~BpfMessages();
  BpfMessages(const BpfMessages&) = delete;
  BpfMessages& operator=(const BpfMessages&) = delete;

  /// Class of a negative errno of libbpf: kDenied: no rights; kBusy: out of memory or descriptors;
  /// kNotSupported: the rest, as the programs are fixed and only the kernel varies. The context
  /// holds the first warning, which names the cause (later ones only say that a step failed), and
  /// the verifier's last word if there is one.
  Error error(int err, std::string_view subject, std::string_view action) const;
  void add(std::string_view message);

 private:
  std::string first_;
  std::string verdict_;
};

/// Of the running kernel, for choices that no field or function name tells.
struct KernelVersion {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const KernelVersion&, const KernelVersion&) = default;
};
/// "6.1.0-18-amd64" -> 6.1; zeros where the text says otherwise.
KernelVersion parse_kernel_version(std::string_view release);
KernelVersion running_kernel();

}  // namespace koordlet::kernel
