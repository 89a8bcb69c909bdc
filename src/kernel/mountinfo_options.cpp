#include "kernel/mountinfo_options.hpp"

#include "base/parse.hpp"
#include "kernel/fd.hpp"

namespace koordlet::kernel {

bool mounted_with(const HostRoots& roots, std::string_view mount_point, std::string_view option) {
  const auto text = read_file(roots.proc + "/self/mountinfo", 16u << 20);
  if (!text) return false;
  std::string_view lines{*text};
  while (auto line = next_line(lines)) {
    auto rest = *line;
    std::string_view at;
    for (int i = 0; i < 5; ++i) at = next_field(rest).value_or("");
    if (at != mount_point) continue;
    std::string_view last;
    while (const auto field = next_field(rest)) last = *field;
    while (!last.empty()) {
      const auto comma = last.find(',');
      if (last.substr(0, comma) == option) return true;
      last = comma == std::string_view::npos ? std::string_view{} : last.substr(comma + 1);
    }
  }
  return false;
}

}  // namespace koordlet::kernel
