#include "store/sample_reader.hpp"

#include <algorithm>

#include "store/sample_block.hpp"

namespace koordlet::store {
namespace {

// A row is decoded whole unless it holds this many entries for each one wanted: looking one entry
// up costs half a group of 64.
constexpr std::size_t kWholeRow = 32;

auto by_id(std::vector<WantedSamples>& wanted, std::uint32_t id) {
  return std::lower_bound(
      wanted.begin(), wanted.end(), id, [](const auto& w, std::uint32_t i) { return w.id < i; });
}

}  // namespace

Result<void> SampleReader::read(std::vector<WantedSamples>& wanted, StoredTime sealed_until) {
  if (wanted.empty()) return {};
  auto from = wanted.front().from, to = wanted.front().to;
  for (const auto& w : wanted) {
    from = std::min(from, w.from);
    to = std::max(to, w.to);
  }
  auto r = read_seals(wanted, from, to);
  if (r) r = read_rows(wanted, std::max(from, sealed_until + StoredTime{1}), to);
  return r;
}

bool SampleReader::decode(SealView& seal, const GroupReader::Entry& entry) {
  auto block = entry.block;
  values_.clear();
  if (entry.pattern == 0) {
    pattern_rows_.clear();
    return read_block(block, seal.head().rows(), values_);
  }
  return seal.head().rows_of(entry.pattern, pattern_rows_) &&
         read_block(block, pattern_rows_.size(), values_);
}

// times_, values_ and pattern_rows_ (none: every row) are of one series.
void SampleReader::take(WantedSamples& w) {
  auto& out = w.samples;
  const bool all = pattern_rows_.empty();
  const bool whole = w.from.count() <= times_.front() && times_.back() <= w.to.count();
  if (!whole || !all) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const StoredTime at{times_[all ? i : pattern_rows_[i]]};
      if (w.covers(at)) out.push_back({at, values_[i]});
    }
    return;
  }
  const auto before = out.size();
  out.resize(before + values_.size());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    out[before + i] = {StoredTime{times_[i]}, values_[i]};
  }
}

Result<void> SampleReader::read_seals(std::vector<WantedSamples>& wanted,
                                      StoredTime from,
                                      StoredTime to) {
  const auto damaged = seals_.scan(from, to, [&](SealView& seal) {
    if (!seal.head().times(times_)) {
      ++damaged_;
      return true;
    }
    ids_.clear();
    for (const auto& w : wanted) {
      if (w.from <= seal.info().end && seal.info().begin <= w.to) ids_.push_back(w.id);
    }
    const bool intact = seal.find(ids_, [&](const GroupReader::Entry& entry) {
      if (decode(seal, entry)) {
        take(*by_id(wanted, entry.id));
      } else {
        ++damaged_;
      }
    });
    if (!intact) ++damaged_;
    return true;
  });
  if (!damaged) return damaged.error();
  damaged_ += *damaged;
  return {};
}

std::optional<TimedValue> SampleReader::last_in(SealView& seal, std::uint32_t id) {
  std::optional<TimedValue> out;
  if (!seal.head().times(times_)) return out;
  seal.find({id}, [&](const GroupReader::Entry& entry) {
    if (!decode(seal, entry) || values_.empty()) return;
    const auto row = pattern_rows_.empty() ? values_.size() - 1 : pattern_rows_.back();
    out = TimedValue{StoredTime{times_[row]}, values_.back()};
  });
  return out;
}

void SampleReader::look_up(const RowReader& row,
                           StoredTime at,
                           std::vector<WantedSamples>& wanted) {
  for (auto& w : wanted) {
    if (!w.covers(at)) continue;
    const auto found = row.find(w.id, w.group);
    if (found.damaged) ++damaged_;
    if (!found.damaged && found.value) w.samples.push_back({at, *found.value});
  }
}

Result<void> SampleReader::read_rows(std::vector<WantedSamples>& wanted,
                                     StoredTime from,
                                     StoredTime to) {
  return rows_.scan(from, to, [&](StoredTime at, std::string_view bytes) {
    const auto row = RowReader::open(bytes);
    if (!row) {
      ++damaged_;
      return;
    }
    if (row->size() > kWholeRow * wanted.size()) return look_up(*row, at, wanted);
    entries_.clear();
    if (!row->read_intact(entries_)) ++damaged_;
    auto w = wanted.begin();
    for (const auto& e : entries_) {  // both by rising id
      while (w != wanted.end() && w->id < e.id) ++w;
      if (w == wanted.end()) return;
      if (w->id == e.id && w->covers(at)) w->samples.push_back({at, e.value});
    }
  });
}

}  // namespace koordlet::store
