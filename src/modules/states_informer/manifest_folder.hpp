#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "modules/states_informer/manifest_file.hpp"

namespace koordlet::states {

/// True for what the `files` source reads: *.yaml, *.yml, *.json; no dot files (a ConfigMap's
/// "..data" among them), no editor leftovers ("x.yaml~", "#x.yaml#").
bool is_manifest_name(std::string_view name);

/// The `files` source without its loop: a folder re-read whole, one file a step, so that a large
/// folder never holds the loop. Unchanged files (by identity, size and times) are not read again.
class ManifestFolder {
 public:
  ManifestFolder(std::string folder, std::size_t max_bytes)
      : folder_{std::move(folder)}, max_bytes_{max_bytes} {}

  /// Lists the folder and forgets the files that are gone. Links are followed, so the folder may be
  /// a mounted ConfigMap. Error: the folder cannot be listed; everything is kept then.
  Result<void> begin();
  /// Reads the next file of the list; false when there was none left.
  bool step(WallTime now);
  /// begin() and all steps.
  Result<void> scan(WallTime now);

  const std::map<std::string, ManifestFile>& files() const { return files_; }
  /// Rises when a file came, went or was read anew.
  std::uint64_t generation() const { return generation_; }

 private:
  struct Stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    std::int64_t modified_ns;
    std::int64_t changed_ns;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  static std::optional<Stamp> stamp_of(const struct stat& st, WallTime now);
  void read_one(const std::string& name, WallTime now);

  std::string folder_;
  std::size_t max_bytes_;
  std::map<std::string, ManifestFile> files_;
  std::map<std::string, Stamp> stamps_;  // of the files that need not be read again while it holds
  std::vector<std::string> todo_;        // last first
  std::uint64_t generation_ = 0;
};

}  // namespace koordlet::states
