#include "store/seal_log.hpp"

#include <algorithm>

namespace koordlet::store {
namespace {

MDB_val val_of(const SealKey& key) { return {key.size(), const_cast<char*>(key.data())}; }

// Keys that are none sort as the oldest.
SealPart part_of(std::string_view key) { return decode_seal_key(key).value_or(SealPart{}); }

}  // namespace

std::optional<SealView::Group> SealView::group_of(std::uint32_t id) {
  const auto wanted = encode_seal_key({info_.end, id});
  MDB_val key = val_of(wanted), value{};
  int rc = mdb_cursor_get(cursor_, &key, &value, MDB_SET_RANGE);
  if (rc != 0) return std::nullopt;  // the head is always behind
  const auto found = part_of(to_view(key));
  if (found.at != info_.end || found.id != id) {
    rc = mdb_cursor_get(cursor_, &key, &value, MDB_PREV);
    if (rc != 0) return std::nullopt;
  }
  const auto part = part_of(to_view(key));
  if (part.at != info_.end) return std::nullopt;
  return Group{part.id, to_view(value)};
}

std::optional<SealView::Group> SealView::next_group() {
  MDB_val key{}, value{};
  if (mdb_cursor_get(cursor_, &key, &value, MDB_NEXT) != 0) return std::nullopt;
  const auto part = part_of(to_view(key));
  if (part.at != info_.end || part.id == kHeadId) return std::nullopt;
  return Group{part.id, to_view(value)};
}

bool SealView::find(const std::vector<std::uint32_t>& ids, const Visit& visit) {
  bool whole = true;
  for (std::size_t i = 0; i < ids.size();) {
    const auto start = i;
    const auto group = group_of(ids[i]);
    auto reader = group ? GroupReader::open(group->bytes, group->first) : std::nullopt;
    if (group && !reader) whole = false;
    while (reader) {
      const auto e = reader->next();
      if (!e) break;
      while (i < ids.size() && ids[i] < e->id) ++i;
      if (i == ids.size()) break;
      if (ids[i] == e->id) {
        visit(*e);
        ++i;
      }
    }
    if (reader && reader->damaged()) whole = false;
    if (i == start) ++i;  // not here: the group ends before it
  }
  return whole;
}

bool SealView::each(std::uint32_t from, std::uint32_t to, const Visit& visit) {
  bool whole = true;
  auto group = group_of(from);
  if (!group) {  // the first group starts behind `from`
    const auto wanted = encode_seal_key({info_.end, from});
    MDB_val key = val_of(wanted), value{};
    if (mdb_cursor_get(cursor_, &key, &value, MDB_SET_RANGE) != 0) return whole;
    const auto part = part_of(to_view(key));
    if (part.at != info_.end || part.id == kHeadId) return whole;
    group = Group{part.id, to_view(value)};
  }
  for (; group && group->first <= to; group = next_group()) {
    auto reader = GroupReader::open(group->bytes, group->first);
    if (!reader) {
      whole = false;
      continue;
    }
    while (const auto e = reader->next()) {
      if (e->id > to) return whole;
      if (e->id >= from) visit(*e);
    }
    if (reader->damaged()) whole = false;
  }
  return whole;
}

Result<std::size_t> SealLog::start() {
  auto r = env_.write([&](MDB_txn* txn) -> Result<void> {
    const int rc = mdb_dbi_open(txn, name_, MDB_CREATE, &dbi_);
    return rc == 0 ? Result<void>{} : lmdb_error(rc, "seals: open");
  });
  if (!r) return r.error();
  std::size_t damaged = 0;
  r = env_.read([&](MDB_txn* txn) { return read_heads(txn, damaged); });
  if (!r) return r.error();
  if (r = drop_unfinished(); !r) return r.error();
  return damaged;
}

// From seal to seal: any key of one leads to its head.
Result<void> SealLog::read_heads(MDB_txn* txn, std::size_t& damaged) {
  seals_.clear();
  Cursor cursor;
  int rc = cursor.open(txn, dbi_);
  if (rc != 0) return lmdb_error(rc, "seals: cursor");
  SealKey wanted{};
  std::vector<std::int64_t> times;
  for (;;) {
    MDB_val key = val_of(wanted), value{};
    rc = mdb_cursor_get(cursor.get(), &key, &value, MDB_SET_RANGE);
    if (rc == MDB_NOTFOUND) return {};
    if (rc != 0) return lmdb_error(rc, "seals: read");
    const auto part = part_of(to_view(key));
    wanted = encode_seal_key({part.at, kHeadId});
    key = val_of(wanted);
    rc = mdb_cursor_get(cursor.get(), &key, &value, MDB_SET);
    if (rc == 0) {
      const auto head = SealHead::open(to_view(value));
      if (head && head->times(times) && times.back() == part.at.count()) {
        seals_.push_back(
            {StoredTime{times.front()}, part.at, head->rows(), head->series(), head->samples()});
      } else {
        ++damaged;
      }
    } else if (rc != MDB_NOTFOUND) {
      return lmdb_error(rc, "seals: read");
    }
    wanted = encode_seal_key({part.at + StoredTime{1}, 0});
  }
}

std::size_t SealLog::rows() const {
  std::size_t out = 0;
  for (const auto& s : seals_) out += s.rows;
  return out;
}

Result<void> SealLog::put(StoredTime at,
                          const std::vector<GroupBuilder::Group>& groups,
                          std::string_view head) {
  return env_.write([&](MDB_txn* txn) -> Result<void> {
    const auto append = [&](std::uint32_t id, std::string_view bytes) {
      const auto wanted = encode_seal_key({at, id});
      MDB_val key = val_of(wanted), value = to_val(bytes);
      return mdb_put(txn, dbi_, &key, &value, MDB_APPEND);
    };
    int rc = 0;
    for (const auto& g : groups) {
      if (rc == 0) rc = append(g.first, g.bytes);
    }
    if (rc == 0 && !head.empty()) rc = append(kHeadId, head);
    return rc == 0 ? Result<void>{} : lmdb_error(rc, "seals: append");
  });
}

Result<void> SealLog::drop_unfinished() {
  const auto end = seals_.empty() ? StoredTime{-1} : seals_.back().end;
  const auto wanted = [end](std::string_view key) {
    const auto part = decode_seal_key(key);
    return !part || part->at > end;
  };
  const auto dropped = drop_entries(env_, dbi_, Edge::kNewest, SIZE_MAX, wanted);
  return dropped ? Result<void>{} : wrap("seals", dropped.error());
}

Result<std::size_t> SealLog::drop_some_before(StoredTime t, bool& more) {
  std::size_t rows = 0;
  while (!seals_.empty() && seals_.front().end < t) {
    rows += seals_.front().rows;
    seals_.pop_front();
  }
  const auto wanted = [t](std::string_view key) { return part_of(key).at < t; };
  const auto dropped = drop_some_entries(env_, dbi_, Edge::kOldest, SIZE_MAX, wanted, more);
  if (!dropped) return wrap("seals", dropped.error());
  return rows;
}

Result<std::size_t> SealLog::drop_before(StoredTime t) {
  std::size_t rows = 0;
  for (bool more = true; more;) {
    const auto step = drop_some_before(t, more);
    if (!step) return step;
    rows += *step;
  }
  return rows;
}

Result<std::size_t> SealLog::drop_after(StoredTime t) {
  std::size_t rows = 0;
  while (!seals_.empty() && seals_.back().end > t) {
    rows += seals_.back().rows;
    seals_.pop_back();
  }
  if (auto r = drop_unfinished(); !r) return r.error();
  return rows;
}

bool SealLog::visit_seal(MDB_txn* txn,
                         MDB_cursor* cursor,
                         const SealInfo& seal,
                         const Visit& visit,
                         std::size_t& damaged) {
  const auto wanted = encode_seal_key({seal.end, kHeadId});
  MDB_val key = val_of(wanted), value{};
  const auto head =
      mdb_get(txn, dbi_, &key, &value) == 0 ? SealHead::open(to_view(value)) : std::nullopt;
  if (!head) {
    ++damaged;
    return true;
  }
  SealView view{cursor, seal, *head};
  return visit(view);
}

Result<std::size_t> SealLog::scan(StoredTime from, StoredTime to, const Visit& visit) {
  std::size_t damaged = 0;
  auto next = std::lower_bound(
      seals_.begin(), seals_.end(), from, [](const auto& s, StoredTime t) { return s.end < t; });
  if (next == seals_.end() || next->begin > to) return damaged;
  auto r = env_.read([&](MDB_txn* txn) -> Result<void> {
    Cursor cursor;
    const int rc = cursor.open(txn, dbi_);
    if (rc != 0) return lmdb_error(rc, "seals: cursor");
    for (; next != seals_.end() && next->begin <= to; ++next) {
      if (!visit_seal(txn, cursor.get(), *next, visit, damaged)) break;
    }
    return {};
  });
  if (!r) return r.error();
  return damaged;
}

Result<std::size_t> SealLog::scan_back(const Visit& visit) {
  std::size_t damaged = 0;
  if (seals_.empty()) return damaged;
  auto r = env_.read([&](MDB_txn* txn) -> Result<void> {
    Cursor cursor;
    const int rc = cursor.open(txn, dbi_);
    if (rc != 0) return lmdb_error(rc, "seals: cursor");
    for (auto seal = seals_.rbegin(); seal != seals_.rend(); ++seal) {
      if (!visit_seal(txn, cursor.get(), *seal, visit, damaged)) break;
    }
    return {};
  });
  if (!r) return r.error();
  return damaged;
}

}  // namespace koordlet::store
