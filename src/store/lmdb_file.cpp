#include "store/lmdb_file.hpp"

#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <vector>

#include <fmt/format.h>

#include "kernel/fd.hpp"

namespace koordlet::store {
namespace {

static_assert(std::endian::native == std::endian::little && sizeof(std::size_t) == 8,
              "the page layout below is that of 64-bit little-endian machines");

// Page header: page number (8), pad (2), flags (2), then lower and upper (2 + 2) or, for the first
// page of a large value, the number of pages (4).
constexpr std::uint64_t kHeader = 16;
constexpr std::uint16_t kBranch = 0x01, kLeaf = 0x02, kOverflow = 0x04, kMeta = 0x08;
// Meta page body: magic (4), version (4), address (8), map size (8), two database records,
// last page (8), transaction (8).
constexpr std::uint32_t kMagic = 0xBEEFC0DE, kVersion = 1;
constexpr std::uint64_t kMetaBytes = 16 + 24 + 2 * 48 + 16;
// Node: data size or child page (4), flags (2), key size (2), key, data.
constexpr std::uint64_t kNodeHeader = 8;
constexpr std::uint16_t kBigData = 0x01, kSubDatabase = 0x02, kDuplicates = 0x04;
constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
constexpr int kMaxDepth = 32;  // LMDB's own cursor stack

struct Database {
  std::uint32_t pad;  // of the first record of a meta page: the page size
  std::uint16_t flags, depth;
  std::uint64_t branch_pages, leaf_pages, overflow_pages, entries, root;
};
static_assert(sizeof(Database) == 48);

struct Meta {
  std::uint64_t map_size = 0, last_page = 0, transaction = 0;
  Database free{}, main{};
};

class FileCheck {
 public:
  FileCheck(const unsigned char* data, std::uint64_t size) : data_{data}, size_{size} {}
  Result<void> run();

 private:
  template <class T>
  T at(std::uint64_t offset) const {
    T out;
    std::memcpy(&out, data_ + offset, sizeof out);
    return out;
  }
  static Error damaged(std::uint64_t page, std::string_view what) {
    return {Errc::kParse, fmt::format("page {}: {}", page, what)};
  }
  Result<Meta> read_meta(std::uint64_t index) const;
  Result<void> claim(std::uint64_t first, std::uint64_t count);
  Result<void> walk_database(const Database& db, bool is_free_list, bool may_nest);
  Result<void> walk_page(std::uint64_t page, int levels_below, bool is_free_list, bool may_nest);
  Result<void> walk_leaf_node(std::uint64_t page, std::uint64_t node, bool free, bool may_nest);
  Result<void> walk_free_list(std::uint64_t page, std::uint64_t offset, std::uint64_t bytes);

  const unsigned char* data_;
  std::uint64_t size_;
  std::uint64_t page_size_ = 0, last_page_ = 0, entries_ = 0;
  std::vector<bool> seen_;
};

Result<Meta> FileCheck::read_meta(std::uint64_t index) const {
  const auto base = index * page_size_;
  if (base + kMetaBytes > size_) return damaged(index, "the file ends inside the meta page");
  if ((at<std::uint16_t>(base + 10) & kMeta) == 0) return damaged(index, "not a meta page");
  if (at<std::uint32_t>(base + 16) != kMagic) return damaged(index, "not an LMDB file");
  if (const auto v = at<std::uint32_t>(base + 20); v != kVersion) {
    return damaged(index, fmt::format("expected LMDB data version {}, got {}", kVersion, v));
  }
  Meta meta;
  meta.map_size = at<std::uint64_t>(base + 32);
  meta.free = at<Database>(base + 40);
  meta.main = at<Database>(base + 88);
  meta.last_page = at<std::uint64_t>(base + 136);
  meta.transaction = at<std::uint64_t>(base + 144);
  return meta;
}

Result<void> FileCheck::run() {
  const auto first = read_meta(0);
  if (!first) return first.error();
  page_size_ = first->free.pad;
  if (page_size_ < 512 || page_size_ > 32768 || !std::has_single_bit(page_size_)) {
    return damaged(0, fmt::format("expected a page size of 512 to 32768, got {}", page_size_));
  }
  const auto second = read_meta(1);
  if (!second) return second.error();
  const Meta& meta = second->transaction > first->transaction ? *second : *first;
  // Free pages at the end need not be in the file, so the last page alone proves nothing about a
  // truncation; it must only be a page that the map had room for.
  if (meta.last_page < 1 || meta.last_page >= meta.map_size / page_size_) {
    return damaged(0, fmt::format("last page {} is outside the map", meta.last_page));
  }
  last_page_ = meta.last_page;
  seen_.assign(size_ / page_size_, false);
  if (seen_.size() < 2) return damaged(1, "the file ends inside the meta page");
  seen_[0] = seen_[1] = true;
  if (auto r = walk_database(meta.main, false, true); !r) return wrap("main database", r.error());
  if (auto r = walk_database(meta.free, true, false); !r) return wrap("free list", r.error());
  return {};
}

Result<void> FileCheck::claim(std::uint64_t first, std::uint64_t count) {
  if (first < 2 || first > last_page_ || count == 0 || count > last_page_ - first + 1) {
    return damaged(first, "outside the pages in use");
  }
  if (first + count > seen_.size()) return damaged(first, "beyond the end of the file");
  for (auto p = first; p < first + count; ++p) {
    if (seen_[p]) return damaged(p, "used twice");
    seen_[p] = true;
  }
  return {};
}

Result<void> FileCheck::walk_database(const Database& db, bool is_free_list, bool may_nest) {
  if (db.root == kNoPage) {
    if (db.entries == 0) return {};
    return Error{Errc::kParse, "entries without a root page"};
  }
  if (db.depth < 1 || db.depth > kMaxDepth) {
    return damaged(db.root,
                   fmt::format("expected a depth of 1 to {}, got {}", kMaxDepth, db.depth));
  }
  const auto outer = entries_;
  entries_ = 0;
  auto r = walk_page(db.root, db.depth - 1, is_free_list, may_nest);
  if (!r) return r;
  if (entries_ != db.entries) {
    return damaged(db.root, fmt::format("expected {} entries, found {}", db.entries, entries_));
  }
  entries_ = outer;
  return {};
}

Result<void> FileCheck::walk_page(std::uint64_t page,
                                  int levels_below,
                                  bool is_free_list,
                                  bool may_nest) {
  if (auto r = claim(page, 1); !r) return r;
  const auto base = page * page_size_;
  if (at<std::uint64_t>(base) != page) return damaged(page, "carries another page's number");
  const auto flags = at<std::uint16_t>(base + 10);
  const bool branch = levels_below > 0;
  if (flags != (branch ? kBranch : kLeaf)) {
    return damaged(
        page,
        fmt::format("expected a {} page, got flags {:#x}", branch ? "branch" : "leaf", flags));
  }
  const auto lower = at<std::uint16_t>(base + 12), upper = at<std::uint16_t>(base + 14);
  if (lower < kHeader || lower % 2 != 0 || lower > upper || upper > page_size_) {
    return damaged(page, "bounds of the free space are wrong");
  }
  const std::uint64_t keys = (lower - kHeader) / 2;
  // The free list alone may be left with a branch of one key after a rebalance.
  if (keys < (branch && !is_free_list ? 2U : 1U)) return damaged(page, "too few keys");
  for (std::uint64_t i = 0; i < keys; ++i) {
    const auto offset = at<std::uint16_t>(base + kHeader + 2 * i);
    if (offset < upper || offset % 2 != 0 || offset + kNodeHeader > page_size_) {
      return damaged(page, "a node lies outside the page");
    }
    const auto node = base + offset;
    const std::uint64_t key_end = offset + kNodeHeader + at<std::uint16_t>(node + 6);
    if (key_end > page_size_) return damaged(page, "a key lies outside the page");
    if (branch) {
      const std::uint64_t child =
          at<std::uint32_t>(node) | static_cast<std::uint64_t>(at<std::uint16_t>(node + 4)) << 32;
      if (auto r = walk_page(child, levels_below - 1, is_free_list, may_nest); !r) return r;
    } else {
      ++entries_;
      if (auto r = walk_leaf_node(page, node, is_free_list, may_nest); !r) return r;
    }
  }
  return {};
}

Result<void> FileCheck::walk_leaf_node(std::uint64_t page,
                                       std::uint64_t node,
                                       bool free,
                                       bool may_nest) {
  const std::uint64_t bytes = at<std::uint32_t>(node);
  const auto flags = at<std::uint16_t>(node + 4);
  const auto data = node + kNodeHeader + at<std::uint16_t>(node + 6);
  const auto page_end = (page + 1) * page_size_;
  const bool big = (flags & kBigData) != 0;
  if ((flags & kDuplicates) != 0) return damaged(page, "a kind of value that is never written");
  if (data + (big ? sizeof page : bytes) > page_end) return damaged(page, "a value is cut off");
  if (big) {
    const auto first = at<std::uint64_t>(data);
    const auto count = (kHeader + bytes + page_size_ - 1) / page_size_;
    if (auto r = claim(first, count); !r) return wrap("large value", r.error());
    const auto base = first * page_size_;
    if (at<std::uint64_t>(base) != first || at<std::uint16_t>(base + 10) != kOverflow ||
        at<std::uint32_t>(base + 12) != count) {
      return damaged(first, "not the large value that it should be");
    }
    return free ? walk_free_list(first, base + kHeader, bytes) : Result<void>{};
  }
  if (free) return walk_free_list(page, data, bytes);
  if ((flags & kSubDatabase) == 0) return {};
  if (!may_nest || bytes != sizeof(Database)) return damaged(page, "a database where none can be");
  return walk_database(at<Database>(data), false, false);
}

Result<void> FileCheck::walk_free_list(std::uint64_t page,
                                       std::uint64_t offset,
                                       std::uint64_t bytes) {
  if (bytes < 8) return damaged(page, "a free list is cut off");
  const auto count = at<std::uint64_t>(offset);
  if (count > bytes / 8 - 1) return damaged(page, "a free list is longer than its value");
  for (std::uint64_t i = 1; i <= count; ++i) {
    const auto p = at<std::uint64_t>(offset + 8 * i);
    if (p < 2 || p > last_page_) return damaged(p, "listed as free, outside the pages in use");
    if (p >= seen_.size()) continue;  // freed before it was ever written
    if (seen_[p]) return damaged(p, "listed as free, but in use");
    seen_[p] = true;
  }
  return {};
}

}  // namespace

Result<void> check_lmdb_file(const std::string& path) {
  const kernel::Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd) return errno_error(errno, path, "open");
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return errno_error(errno, path, "stat");
  if (!S_ISREG(st.st_mode)) return Error{Errc::kParse, path + ": expected a regular file"};
  if (st.st_size == 0) return Error{Errc::kNotFound, path + ": empty"};
  const auto size = static_cast<std::size_t>(st.st_size);
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (map == MAP_FAILED) return errno_error(errno, path, "map");
  auto r = FileCheck{static_cast<const unsigned char*>(map), size}.run();
  ::munmap(map, size);
  if (!r) return wrap(path, r.error());
  return r;
}

}  // namespace koordlet::store
