#pragma once

#include <functional>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "modules/states_informer/manifest_folder.hpp"
#include "modules/states_informer/merge.hpp"
#include "modules/states_informer/settle.hpp"
#include "modules/states_informer/source.hpp"
#include "reactor/worker.hpp"

namespace koordlet::states {

/// The `files` source: a folder with Pod, Node and NodeSLO manifests, watched with inotify and
/// re-read whole.
class FilesSource final : public Source {
 public:
  struct Config {
    std::string folder;
    std::size_t max_manifest_bytes = 4u << 20;
    std::string node_name;
    std::chrono::milliseconds settle{50};
    std::chrono::seconds rescan_interval{10};
  };
  /// `helper` reads and parses while run() is running; nullptr: the loop does.
  FilesSource(boost::asio::any_io_executor ex,
              Config config,
              const Clock& clock,
              reactor::Worker* helper,
              std::function<void()> changed);
  ~FilesSource() override;

  Result<void> load() override;
  boost::asio::awaitable<void> run() override;
  Content content(const std::optional<kernel::CgroupLayout>& layout,
                  const NodeState& previous) override;
  std::vector<ResourceHealth> health() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koordlet::states
