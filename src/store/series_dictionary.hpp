#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/metric_store.hpp"

namespace koordlet::store {

/// Series <-> id, in memory. Ids are small and dense: an id comes back into use once its series is
/// gone, which is safe because a series goes only when no row holds it.
class SeriesDictionary {
 public:
  using Id = std::uint32_t;

  std::optional<Id> find(const SeriesKey& key) const;
  Id add(const SeriesKey& key);  ///< key must be new
  void erase(Id id);
  /// Start-up: what the file says. A row that could not be read holds its id by the empty key; it
  /// is not found by any name and goes with the rows that may hold it.
  bool restore(Id id, std::optional<SeriesKey> key, StoredTime last_row);
  void restored();  ///< after the last restore()

  const SeriesKey* key(Id id) const { return slots_[id].key; }
  bool used(Id id) const { return id < slots_.size() && slots_[id].used; }
  std::size_t count() const { return ids_.size(); }  ///< names in use
  Id end() const { return static_cast<Id>(slots_.size()); }

  /// Time of the newest row that may hold the series.
  StoredTime last_row(Id id) const { return slots_[id].last.at; }
  /// The newest sample, when it is known without a look at the rows.
  std::optional<TimedValue> last(Id id) const;
  void set_last(Id id, TimedValue sample);
  void forget_last(Id id, StoredTime last_row);

 private:
  struct Hash {
    std::size_t operator()(const SeriesKey& k) const noexcept;
  };
  struct Slot {
    const SeriesKey* key = nullptr;  // owned by ids_, stable there
    TimedValue last;
    bool last_known = false;
    bool used = false;
  };
  std::unordered_map<SeriesKey, Id, Hash> ids_;
  std::vector<Slot> slots_;
  std::vector<Id> free_;
};

/// Dictionary rows: key = id, 4 bytes big endian; value = format (1 byte), length of the kind as
/// u16 little endian, kind, owner; neither is longer than kMaxSeriesText.
std::string encode_series_id(SeriesDictionary::Id id);
std::optional<SeriesDictionary::Id> decode_series_id(std::string_view key);
std::string encode_series(const SeriesKey& key);
std::optional<SeriesKey> decode_series(std::string_view row);

}  // namespace koordlet::store
