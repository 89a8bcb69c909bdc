#include "store_bench_data.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdlib.h>

namespace koordlet::bench {
namespace {

constexpr double kMilliCoresPerPercent = 40;
constexpr store::StoredTime kExpireEvery = std::chrono::minutes{30};

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> out;
  std::istringstream in{line};
  for (std::string cell; std::getline(in, cell, ',');) out.push_back(cell);
  if (!line.empty() && line.back() == ',') out.emplace_back();
  return out;
}

template <class T>
T must(Result<T> r, const char* what) {
  if (r) return std::move(*r);
  std::fprintf(stderr, "bench_store: %s: %s\n", what, r.error().context.c_str());
  std::exit(1);
}

}  // namespace

std::optional<Recording> load_csv(const std::string& file) {
  std::ifstream in{file};
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  auto names = split(line);
  if (names.size() < 2) return std::nullopt;
  Recording out;
  if (names[0] == "timestamp" || names[0] == "minute") {
    out.interval = std::chrono::minutes{5};
  } else if (names[0] != "second") {
    return std::nullopt;
  }
  out.series.assign(names.begin() + 1, names.end());
  std::vector<std::vector<std::string>> cells;
  bool decimals = false;
  while (std::getline(in, line)) {
    auto row = split(line);
    if (row.size() != names.size()) continue;  // the line that was cut off
    for (std::size_t i = 1; i < row.size(); ++i) {
      decimals = decimals || row[i].find('.') != std::string::npos;
    }
    cells.push_back(std::move(row));
  }
  for (const auto& row : cells) {
    auto& values = out.rows.emplace_back();
    for (std::size_t i = 1; i < row.size(); ++i) {
      char* end = nullptr;
      const double v = std::strtod(row[i].c_str(), &end);
      const bool number = end != row[i].c_str() && std::isfinite(v) && std::fabs(v) < 1e15;
      values.push_back(number
                           ? std::optional{std::llround(decimals ? v * kMilliCoresPerPercent : v)}
                           : std::nullopt);
    }
  }
  return out;
}

TempStore::TempStore(std::uint64_t map_size, const store::MetricStore::Options& options)
    : map_size_{map_size}, options_{options} {
  std::string name = (std::filesystem::temp_directory_path() / "koordlet-bench-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) std::exit(1);
  folder_ = name;
  open();
}

TempStore::~TempStore() {
  close();
  std::error_code ec;
  std::filesystem::remove_all(folder_, ec);
}

void TempStore::close() {
  store_.reset();
  env_.reset();
}

void TempStore::open() {
  store::LmdbEnv::Options options;
  options.folder = folder_ + "/metrics";
  options.map_size = map_size_;
  env_.emplace(must(store::LmdbEnv::open(options), "open"));
  store_ = must(store::MetricStore::open(*env_, options_), "store");
}

void TempStore::drain(store::StoredTime now) {
  while (must(store_->maintain(now), "maintain")) {
  }
  if (expired_at_ && now - *expired_at_ < kExpireEvery) return;
  expired_at_ = now;
  static_cast<void>(must(store_->expire(now), "expire"));
}

}  // namespace koordlet::bench
