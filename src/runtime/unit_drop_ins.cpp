#include "runtime/unit_drop_ins.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "kernel/fd.hpp"
#include "runtime/unit_property.hpp"

namespace koordlet::runtime {

namespace fs = std::filesystem;

std::size_t remove_redundant_drop_ins(const std::string& run,
                                      const std::string& unit,
                                      const std::vector<std::string_view>& settings) {
  if (unit.find('/') != std::string::npos) return 0;
  const auto file = run + "/systemd/transient/" + unit;
  const auto folder = file + ".d";
  const auto unit_file = kernel::read_file(file);
  if (!unit_file) return 0;
  // In the order of their names, which is the order in which systemd reads them.
  std::vector<std::string> names;
  std::error_code ec;
  for (fs::directory_iterator it{folder, ec}, end; !ec && it != end; it.increment(ec)) {
    names.push_back(it->path().filename());
  }
  if (ec) return 0;
  std::sort(names.begin(), names.end());
  std::size_t removed = 0;
  for (const auto setting : settings) {
    const auto own = fmt::format("50-{}.conf", setting);
    const auto drop_in = kernel::read_file(folder + "/" + own);
    if (!drop_in) continue;
    std::vector<std::string> others{*unit_file};
    bool complete = true;
    for (const auto& name : names) {
      if (name == own || !name.ends_with(".conf")) continue;
      auto text = kernel::read_file(folder + "/" + name);
      if (text) others.push_back(std::move(*text));
      // One removed a moment ago says nothing any more.
      complete = complete && (text || text.error().code == Errc::kNotFound);
    }
    if (!complete || !is_redundant_drop_in(*drop_in, others)) continue;
    if (fs::remove(folder + "/" + own, ec)) ++removed;
  }
  if (removed > 0) fs::remove(folder, ec);  // refused while anything is in it
  return removed;
}

}  // namespace koordlet::runtime
