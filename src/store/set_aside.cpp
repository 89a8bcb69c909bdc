#include "store/set_aside.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace koordlet::store {
namespace {

constexpr int kNames = 100;

// nullopt: this place will not do, errno says why.
std::optional<std::string> make_new_folder(const std::string& wanted) {
  for (int n = 1; n <= kNames; ++n) {
    auto name = n == 1 ? wanted : fmt::format("{}-{}", wanted, n);
    if (::mkdir(name.c_str(), 0700) == 0) return name;
    if (errno != EEXIST) return std::nullopt;
  }
  return std::nullopt;
}

// lock.mdb goes second: a data file without its lock file is complete, the reverse is not.
int move_files(const std::string& from, const std::string& to) {
  for (const char* file : {"data.mdb", "lock.mdb"}) {
    if (std::rename(fmt::format("{}/{}", from, file).c_str(),
                    fmt::format("{}/{}", to, file).c_str()) != 0 &&
        errno != ENOENT) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

Result<std::string> move_store_files(const std::string& folder, std::string_view reason) {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  const auto stamp = fmt::format("{}-{:%Y%m%dT%H%M%SZ}", reason, fmt::gmtime(now));
  if (const auto beside = make_new_folder(fmt::format("{}.{}", folder, stamp))) {
    const int err = move_files(folder, *beside);
    if (err == 0) return *beside;
    ::rmdir(beside->c_str());
    if (err != EXDEV) return errno_error(err, folder, "move its files to " + *beside);
  }
  const auto inside = make_new_folder(fmt::format("{}/{}", folder, stamp));
  if (!inside) return errno_error(errno, folder, "make a folder for its damaged files");
  if (const int err = move_files(folder, *inside); err != 0) {
    return errno_error(err, folder, "move its files to " + *inside);
  }
  return *inside;
}

}  // namespace koordlet::store
