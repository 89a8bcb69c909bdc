#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace koordlet::store {

/// A seal is a stretch of rows turned on its side: one head with the times, and groups of series
/// with a block each (docs/metric-store.md has the bytes). Roll-ups have the same frame: their rows
/// are minutes.
///
/// Which rows a series is in is a pattern of the head: 0 is all of them, others are bitmaps that
/// the series of one collection interval share.
class PatternTable {
 public:
  explicit PatternTable(std::size_t rows) : rows_{rows} {}
  /// Of a series with samples in these rows (rising).
  std::uint32_t add(std::span<const std::uint32_t> rows);
  std::size_t size() const { return bitmaps_.size(); }

 private:
  friend void encode_seal_head(std::span<const std::int64_t>,
                               const PatternTable&,
                               std::uint64_t,
                               std::uint64_t,
                               std::string&);
  std::size_t rows_;
  std::string scratch_;
  std::map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> bitmaps_;
};

void encode_seal_head(std::span<const std::int64_t> times,
                      const PatternTable& patterns,
                      std::uint64_t series,
                      std::uint64_t samples,
                      std::string& out);

/// Reads a head where it lies; checked like all stored bytes.
class SealHead {
 public:
  static std::optional<SealHead> open(std::string_view bytes);
  std::size_t rows() const { return rows_; }
  std::uint64_t series() const { return series_; }
  std::uint64_t samples() const { return samples_; }
  /// ms since the epoch, rising; false: damaged. `out` is replaced.
  bool times(std::vector<std::int64_t>& out) const;
  /// Rows of a pattern, rising; `out` is replaced. False: no such pattern.
  bool rows_of(std::uint64_t pattern, std::vector<std::uint32_t>& out) const;

 private:
  std::size_t rows_ = 0;
  std::uint64_t series_ = 0, samples_ = 0, patterns_ = 0;
  std::string_view bitmaps_, times_;
};

/// Collects the blocks of series, by rising id, into values that fit pages of 4096 bytes.
class GroupBuilder {
 public:
  struct Group {
    std::uint32_t first = 0;
    std::string bytes;
  };
  void add(std::uint32_t id, std::uint32_t pattern, std::string_view block);
  void finish();              ///< the rest, in groups that share a leaf page where that saves space
  std::vector<Group> take();  ///< the groups that are complete, in order of their keys

 private:
  struct Entry {
    std::uint32_t id = 0, pattern = 0;
    std::size_t bytes = 0;
  };
  std::size_t size_with(std::size_t block_bytes) const;
  void close(std::size_t entries);

  std::vector<Entry> entries_;
  std::string blocks_;
  std::vector<Group> done_;
};

/// Reads a group from its first series on.
class GroupReader {
 public:
  struct Entry {
    std::uint32_t id = 0;
    std::uint64_t pattern = 0;
    std::string_view block;
  };
  /// `first` is the id in the key. nullopt: damaged.
  static std::optional<GroupReader> open(std::string_view bytes, std::uint32_t first);
  /// nullopt: no more, or damaged().
  std::optional<Entry> next();
  bool damaged() const { return damaged_; }

 private:
  std::string_view table_, blocks_;
  std::uint64_t left_ = 0, id_ = 0;
  bool first_ = true, damaged_ = false;
};

}  // namespace koordlet::store
