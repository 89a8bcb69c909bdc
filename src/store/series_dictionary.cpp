#include "store/series_dictionary.hpp"

namespace koordlet::store {
namespace {

constexpr char kFormat = 1;
constexpr std::size_t kHeader = 3;
constexpr SeriesDictionary::Id kMaxId = 1U << 24;  // a damaged key must not size the table

}  // namespace

std::size_t SeriesDictionary::Hash::operator()(const SeriesKey& k) const noexcept {
  const std::hash<std::string> hash;
  return hash(k.kind) * 31 + hash(k.owner);
}

std::optional<SeriesDictionary::Id> SeriesDictionary::find(const SeriesKey& key) const {
  const auto it = ids_.find(key);
  if (it == ids_.end()) return std::nullopt;
  return it->second;
}

SeriesDictionary::Id SeriesDictionary::add(const SeriesKey& key) {
  Id id = end();
  if (free_.empty()) {
    slots_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  const auto it = ids_.emplace(key, id).first;
  slots_[id] = Slot{&it->first, {}, false, true};
  return id;
}

void SeriesDictionary::erase(Id id) {
  if (!used(id)) return;
  if (const auto* key = slots_[id].key) ids_.erase(ids_.find(*key));
  slots_[id] = Slot{};
  free_.push_back(id);
}

bool SeriesDictionary::restore(Id id, std::optional<SeriesKey> key, StoredTime last_row) {
  if (id >= kMaxId || used(id)) return false;
  if (id >= end()) slots_.resize(id + 1);
  auto& slot = slots_[id];
  slot.used = true;
  slot.last.at = last_row;
  if (!key) return true;
  const auto [it, fresh] = ids_.emplace(std::move(*key), id);
  if (fresh) slot.key = &it->first;
  return fresh;
}

void SeriesDictionary::restored() {
  for (Id id = end(); id-- > 0;) {
    if (!slots_[id].used) free_.push_back(id);
  }
}

std::optional<TimedValue> SeriesDictionary::last(Id id) const {
  if (!slots_[id].last_known) return std::nullopt;
  return slots_[id].last;
}

void SeriesDictionary::set_last(Id id, TimedValue sample) {
  slots_[id].last = sample;
  slots_[id].last_known = true;
}

void SeriesDictionary::forget_last(Id id, StoredTime last_row) {
  auto& slot = slots_[id];
  if (slot.last.at <= last_row) return;
  slot.last = TimedValue{last_row, 0};
  slot.last_known = false;
}

std::string encode_series_id(SeriesDictionary::Id id) {
  return {static_cast<char>(id >> 24),
          static_cast<char>(id >> 16),
          static_cast<char>(id >> 8),
          static_cast<char>(id)};
}

std::optional<SeriesDictionary::Id> decode_series_id(std::string_view key) {
  if (key.size() != 4) return std::nullopt;
  SeriesDictionary::Id id = 0;
  for (const char c : key) id = id << 8 | static_cast<unsigned char>(c);
  return id;
}

std::string encode_series(const SeriesKey& key) {
  std::string out;
  out.reserve(kHeader + key.kind.size() + key.owner.size());
  out += kFormat;
  out += static_cast<char>(key.kind.size() & 0xFF);
  out += static_cast<char>(key.kind.size() >> 8);
  out += key.kind;
  out += key.owner;
  return out;
}

std::optional<SeriesKey> decode_series(std::string_view row) {
  if (row.size() < kHeader || row[0] != kFormat) return std::nullopt;
  const std::size_t kind = static_cast<unsigned char>(row[1]) |
                           static_cast<std::size_t>(static_cast<unsigned char>(row[2])) << 8;
  row.remove_prefix(kHeader);
  if (kind > row.size() || kind > kMaxSeriesText || row.size() - kind > kMaxSeriesText) {
    return std::nullopt;
  }
  return SeriesKey{std::string{row.substr(0, kind)}, std::string{row.substr(kind)}};
}

}  // namespace koordlet::store
