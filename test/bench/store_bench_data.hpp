#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/metric_store.hpp"

namespace koordlet::bench {

/// A table of samples: one row a time, one column a series; nullopt: no sample.
struct Recording {
  std::vector<std::string> series;
  std::chrono::milliseconds interval{1000};
  std::vector<std::vector<std::optional<std::int64_t>>> rows;
};

/// `timestamp,value` (5 minutes apart), `minute,...` (5 minutes) or `second,...`. A file with
/// decimals holds percent of a machine, kept as milli-cores of one with four CPUs, as the daemon
/// keeps use. nullopt: not readable as one of them.
std::optional<Recording> load_csv(const std::string& file);

/// An environment with a store in a temporary folder; gone with the object.
class TempStore {
 public:
  TempStore(std::uint64_t map_size, const store::MetricStore::Options& options);
  ~TempStore();
  TempStore(const TempStore&) = delete;
  TempStore& operator=(const TempStore&) = delete;
  store::MetricStore& store() { return *store_; }
  store::LmdbEnv& env() { return *env_; }
  const std::string& folder() const { return folder_; }
  void close();
  void open();
  void drain(store::StoredTime now);  ///< all maintenance that is due, and expiry each 30 minutes

 private:
  std::string folder_;
  std::uint64_t map_size_;
  store::MetricStore::Options options_;
  std::optional<store::LmdbEnv> env_;
  std::unique_ptr<store::MetricStore> store_;
  std::optional<store::StoredTime> expired_at_;
};

}  // namespace koordlet::bench
