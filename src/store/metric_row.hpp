#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace koordlet::store {

/// One value of one batch, the series by its dictionary id.
struct RowEntry {
  std::uint32_t id = 0;
  std::int64_t value = 0;
};

/// A row holds one batch (docs/metric-store.md has the bytes). `entries` must rise by id, without
/// repeats. `out` is replaced, its memory reused.
void encode_row(const std::vector<RowEntry>& entries, std::string& out);
std::size_t max_row_bytes(std::size_t entries);

/// Reads one row where it lies. Every access is checked: a damaged row yields "damaged", never a
/// read outside of it.
class RowReader {
 public:
  /// nullopt: not a row of this format.
  static std::optional<RowReader> open(std::string_view row);
  struct Found {
    bool damaged = false;
    std::optional<std::int64_t> value;  ///< nullopt: the batch has no sample of this series
  };
  /// Reads the table of groups and one group, not the whole row. `hint` is the group to look at
  /// first and becomes the one it was found in: row after row, a series keeps to its group, and the
  /// search of the table (cache misses, in a large store) is saved.
  Found find(std::uint32_t id, std::size_t& hint) const;
  Found find(std::uint32_t id) const {
    std::size_t hint = 0;
    return find(id, hint);
  }
  /// Appends the entries of all groups that can be read, in order; false: some cannot.
  bool read_intact(std::vector<RowEntry>& out) const;
  /// The same for the entries with from <= id <= to.
  bool read_ids(std::uint32_t from, std::uint32_t to, std::vector<RowEntry>& out) const;
  /// All entries in order; nullopt: damaged.
  std::optional<std::vector<RowEntry>> all() const;
  std::size_t size() const { return count_; }

 private:
  RowReader(std::string_view row, std::size_t count) : row_{row}, count_{count} {}
  std::uint32_t group_first(std::size_t group) const;
  bool is_group_of(std::uint32_t id, std::size_t group) const;
  std::string_view group_bytes(std::size_t group) const;  ///< empty: damaged
  std::string_view row_;
  std::size_t count_;
};

}  // namespace koordlet::store
