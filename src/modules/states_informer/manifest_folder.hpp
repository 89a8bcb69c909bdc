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

/// The `files` source without its loop: a folder re-read whole, one file at a time. Reading and
/// parsing is a job that needs nothing of the folder, so that it can run on a helper thread: YAML
/// takes about 0.1 ms a pod. Unchanged files (by identity, size and times) are not read again.
class ManifestFolder {
 public:
  struct Stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    std::int64_t modified_ns;
    std::int64_t changed_ns;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  struct Job {
    std::string name;
    std::string path;
    std::size_t max_bytes = 0;
    std::optional<Stamp> stamp;  ///< nullopt: changed too lately to be trusted by its times
    std::optional<ManifestFile> last;
    std::string fault;  ///< why it cannot be read at all
  };

  ManifestFolder(std::string folder, std::size_t max_bytes)
      : folder_{std::move(folder)}, max_bytes_{max_bytes} {}

  /// Lists the folder and forgets the files that are gone. Links are followed, so the folder may be
  /// a mounted ConfigMap. Error: the folder cannot be listed; everything is kept then.
  Result<void> begin();
  bool pending() const { return !todo_.empty(); }
  /// Takes the next file off the list; nullopt when it has not changed.
  std::optional<Job> next(WallTime now);
  /// Any thread: touches nothing but the job and the file.
  static ManifestFile run(const Job& job);
  void apply(const Job& job, ManifestFile read);
  /// All of it at once.
  Result<void> scan(WallTime now);

  const std::map<std::string, ManifestFile>& files() const { return files_; }
  /// Rises when a file came, went or was read anew.
  std::uint64_t generation() const { return generation_; }

 private:
  std::string folder_;
  std::size_t max_bytes_;
  std::map<std::string, ManifestFile> files_;
  std::map<std::string, Stamp> stamps_;  // of the files that need not be read again while it holds
  std::vector<std::string> todo_;        // last first
  std::uint64_t generation_ = 0;
};

}  // namespace koordlet::states
