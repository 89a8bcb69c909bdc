#include "policy/evict_window.hpp"

#include <algorithm>

namespace koordlet::policy {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

template <class Slots, class Part>
std::int64_t total(const Slots& slots, Part part) {
  std::int64_t sum = 0;
  for (const auto& s : slots) sum += part(s);
  return sum;
}

}  // namespace

void CpuWindow::add(const Sample& sample, seconds window) {
  const auto width = std::max<milliseconds>(milliseconds{window} / kSlots, seconds{1});
  if (slots_.empty() || sample.at - slots_.back().from >= width) {
    Slot next;
    next.from = sample.at;
    slots_.push_back(next);
  }
  Slot& slot = slots_.back();
  ++slot.count;
  slot.length += sample.length;
  slot.node_used += sample.node_used.v;
  if (sample.be) {
    ++slot.be_count;
    slot.be_length += sample.length;
    slot.be.used += sample.be->used;
    slot.be.request += sample.be->request;
    slot.be.limit += sample.be->limit;
  }
  while (sample.at - slots_.front().from > window || slots_.size() > kSlots + 1) {
    slots_.pop_front();
  }
}

milliseconds CpuWindow::covered() const {
  return milliseconds{total(slots_, [](const Slot& s) { return s.length.count(); })};
}

bool CpuWindow::covers(seconds window) const { return covered() * 3 >= window; }

bool CpuWindow::covers_be(seconds window) const {
  return milliseconds{total(slots_, [](const Slot& s) { return s.be_length.count(); })} * 3 >=
         window;
}

std::optional<MilliCpu> CpuWindow::node_mean() const {
  const auto count = total(slots_, [](const Slot& s) { return s.count; });
  if (count == 0) return std::nullopt;
  return MilliCpu{total(slots_, [](const Slot& s) { return s.node_used; }) / count};
}

std::optional<BeCpuLoad> CpuWindow::be_mean() const {
  const auto count = total(slots_, [](const Slot& s) { return s.be_count; });
  if (count == 0) return std::nullopt;
  BeCpuLoad out;
  out.used = total(slots_, [](const Slot& s) { return s.be.used; }) / count;
  out.request = total(slots_, [](const Slot& s) { return s.be.request; }) / count;
  out.limit = total(slots_, [](const Slot& s) { return s.be.limit; }) / count;
  return out;
}

}  // namespace koordlet::policy
