#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "policy/be_cpus.hpp"

namespace koordlet::policy {
namespace {

struct Bucket {
  std::vector<Processor> cpus;  ///< by (core, cpu)
  std::vector<bool> used;
  int first_cpu = 0;  ///< of the order above; breaks the tie of equally large buckets

  /// Index of the first of two neighbours that share a core, both free; -1 when there is none.
  int free_pair() const {
    for (std::size_t i = 0; i + 1 < cpus.size(); ++i) {
      if (!used[i] && !used[i + 1] && cpus[i].core == cpus[i + 1].core) return static_cast<int>(i);
    }
    return -1;
  }
  int free_single() const {
    const auto it = std::find(used.begin(), used.end(), false);
    return it == used.end() ? -1 : static_cast<int>(it - used.begin());
  }
  int take(int index) {
    used[static_cast<std::size_t>(index)] = true;
    return cpus[static_cast<std::size_t>(index)].cpu;
  }
};

std::vector<Bucket> buckets_of(const CpuTopology& from) {
  std::map<std::pair<int, int>, Bucket> by_node;
  for (const auto& p : from) by_node[{p.numa, p.socket}].cpus.push_back(p);
  std::vector<Bucket> out;
  for (auto& [key, bucket] : by_node) {
    auto& cpus = bucket.cpus;
    std::sort(cpus.begin(), cpus.end(), [](const Processor& a, const Processor& b) {
      return std::tie(a.core, a.cpu) < std::tie(b.core, b.cpu);
    });
    bucket.used.assign(cpus.size(), false);
    bucket.first_cpu = cpus.front().cpu;
    out.push_back(std::move(bucket));
  }
  std::stable_sort(out.begin(), out.end(), [](const Bucket& a, const Bucket& b) {
    if (a.cpus.size() != b.cpus.size()) return a.cpus.size() > b.cpus.size();
    return a.first_cpu < b.first_cpu;
  });
  return out;
}

}  // namespace

std::vector<int> pick_cpus(int want, const CpuTopology& from) {
  std::vector<int> out;
  if (want <= 0 || from.size() < static_cast<std::size_t>(want)) return out;
  auto buckets = buckets_of(from);
  const std::size_t count = buckets.size();
  std::size_t at = 0;
  int need = want;

  // Whole cores first, one a visit, until a round over all buckets finds none.
  for (bool found = true; need >= 2;) {
    if (at == 0 && !std::exchange(found, false)) break;
    if (const int i = buckets[at].free_pair(); i >= 0) {
      out.push_back(buckets[at].take(i));
      out.push_back(buckets[at].take(i + 1));
      need -= 2;
      found = true;
    }
    at = (at + 1) % count;
  }
  // Then single CPUs, going on at the bucket that is next. `from` holds enough of them.
  while (need > 0) {
    if (const int i = buckets[at].free_single(); i >= 0) {
      out.push_back(buckets[at].take(i));
      --need;
    }
    at = (at + 1) % count;
  }
  return out;
}

}  // namespace koordlet::policy
