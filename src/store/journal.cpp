#include "store/journal.hpp"

#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <lmdb.h>

#include "base/parse.hpp"
#include "store/cursor.hpp"
#include "store/fnv.hpp"

// On disk: database "journal". Key "<path>\0<file>", or "<path>\0<file> <item>" where the file has
// many settings; a path too long for a key is cut and followed by a hash of the whole. Value:
// lines, each ended by '\n':
//   v1, path, file, original, previous, next, plugin, boot id, inode, FNV-1a of all lines before
// The line "file" names the item as the key does.
namespace koordlet::store {
namespace {

constexpr const char* kDatabase = "journal";
constexpr std::string_view kVersion = "v1";
constexpr std::size_t kMaxKey = 500;     // LMDB takes 511
constexpr std::size_t kPathInKey = 400;  // of a path that is too long

std::string file_text(const CgroupKey& key) {
  std::string out{to_string(key.file)};
  if (!key.item.empty()) out += ' ' + key.item;
  return out;
}

/// The file and the item of a key, from file_text().
std::optional<CgroupKey> parse_file_text(std::string_view text) {
  const auto blank = text.find(' ');
  const auto file = parse_cgroup_file(text.substr(0, blank));
  const auto item = blank == std::string_view::npos ? std::string_view{} : text.substr(blank + 1);
  if (!file || !is_item_of(*file, item)) return std::nullopt;
  return CgroupKey{{}, *file, std::string{item}};
}

std::string row_key(const CgroupKey& key) {
  const auto& path = key.path.str();
  const auto file = file_text(key);
  std::string out{path};
  if (path.size() + 1 + file.size() > kMaxKey) {
    out = fmt::format("{}{}~{:016x}", path.substr(0, kPathInKey), '\0', fnv1a(path));
  }
  out += '\0';
  out += file;
  return out;
}

std::string encode(const JournalEntry& e) {
  auto out = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n",
                         kVersion,
                         e.key.path.str(),
                         file_text(e.key),
                         e.original,
                         e.previous,
                         e.next,
                         e.plugin,
                         e.boot_id,
                         e.inode);
  out += fmt::format("{:016x}\n", fnv1a(out));
  return out;
}

// What goes to the kernel later has to be a value of that file.
bool is_value(CgroupFile file, std::string_view text) {
  const auto v = parse_cgroup_value(file, text);
  return v && to_string(*v) == text;
}

// nullopt: damaged.
std::optional<JournalEntry> decode(std::string_view row) {
  constexpr std::size_t kHash = 17;
  if (row.size() < kHash || row.back() != '\n') return std::nullopt;
  const auto body = row.substr(0, row.size() - kHash);
  if (fmt::format("{:016x}\n", fnv1a(body)) != row.substr(body.size())) return std::nullopt;
  std::array<std::string_view, 9> field;
  auto rest = body;
  for (auto& f : field) {
    const auto end = rest.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    f = rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  const auto path = CgroupPath::parse(field[1]);
  const auto named = parse_file_text(field[2]);
  const auto inode = parse_u64(field[8]);
  if (!rest.empty() || field[0] != kVersion || !path || !named || !inode) return std::nullopt;
  JournalEntry e;
  e.key = {*path, named->file, named->item};
  e.original = field[3];
  e.previous = field[4];
  e.next = field[5];
  e.plugin = field[6];
  e.boot_id = field[7];
  e.inode = *inode;
  const auto ok = [&](const std::string& text) {
    return text.empty() || is_value(named->file, text);
  };
  if (!is_value(named->file, e.original) || !ok(e.previous) || !ok(e.next)) return std::nullopt;
  return e;
}

// A row that load() would drop must not get in: with it the original would be lost.
Result<void> check(const JournalEntry& e, const std::string& row) {
  const auto back = decode(row);
  if (back && *back == e) return {};
  return Error{Errc::kRange,
               fmt::format("journal: {}: expected canonical values and texts of one line, got "
                           "original '{}', previous '{}', next '{}', plugin '{}'",
                           to_string(e.key),
                           e.original,
                           e.previous,
                           e.next,
                           e.plugin)};
}

}  // namespace

Journal::Journal(LmdbEnv& env) : env_{env} {}

Result<void> Journal::commit(const std::vector<JournalEntry>& put,
                             const std::vector<CgroupKey>& erase) {
  std::vector<std::string> rows;
  rows.reserve(put.size());
  for (const auto& e : put) {
    rows.push_back(encode(e));
    if (auto r = check(e, rows.back()); !r) return r;
  }
  if (put.empty() && erase.empty()) return {};
  return env_.write([&](MDB_txn* txn) -> Result<void> {
    MDB_dbi dbi = 0;
    int rc = mdb_dbi_open(txn, kDatabase, MDB_CREATE, &dbi);
    if (rc != 0) return lmdb_error(rc, "journal: open");
    for (const auto& key : erase) {
      const auto text = row_key(key);
      auto k = to_val(text);
      rc = mdb_del(txn, dbi, &k, nullptr);
      if (rc != 0 && rc != MDB_NOTFOUND) return lmdb_error(rc, "journal: delete");
    }
    for (std::size_t i = 0; i < put.size(); ++i) {
      const auto text = row_key(put[i].key);
      auto k = to_val(text), v = to_val(rows[i]);
      rc = mdb_put(txn, dbi, &k, &v, 0);
      if (rc != 0) return lmdb_error(rc, "journal: put");
    }
    return {};
  });
}

Result<std::vector<JournalEntry>> Journal::load(std::size_t* damaged) {
  std::vector<JournalEntry> out;
  std::vector<std::string> bad;
  std::size_t unreadable = 0;
  auto r = env_.read([&](MDB_txn* txn) -> Result<void> {
    MDB_dbi dbi = 0;
    int rc = mdb_dbi_open(txn, kDatabase, 0, &dbi);
    if (rc == MDB_NOTFOUND) return {};
    if (rc != 0) return lmdb_error(rc, "journal: open");
    Cursor cursor;
    if (rc = cursor.open(txn, dbi); rc != 0) return lmdb_error(rc, "journal: cursor");
    MDB_val k{}, v{};
    while ((rc = mdb_cursor_get(cursor.get(), &k, &v, MDB_NEXT)) == 0) {
      auto entry = decode(to_view(v));
      if (entry && row_key(entry->key) == to_view(k)) {
        out.push_back(std::move(*entry));
        continue;
      }
      ++unreadable;
      // Rows of a later version stay for the koordlet that wrote them.
      const bool later = to_view(v).starts_with('v') && !to_view(v).starts_with("v1\n");
      if (!later) bad.emplace_back(to_view(k));
    }
    return rc == MDB_NOTFOUND ? Result<void>{} : lmdb_error(rc, "journal: read");
  });
  if (!r) return r.error();
  if (damaged != nullptr) *damaged = unreadable;
  if (bad.empty()) return out;
  r = env_.write([&](MDB_txn* txn) -> Result<void> {
    MDB_dbi dbi = 0;
    int rc = mdb_dbi_open(txn, kDatabase, 0, &dbi);
    for (auto text = bad.begin(); rc == 0 && text != bad.end(); ++text) {
      auto k = to_val(*text);
      rc = mdb_del(txn, dbi, &k, nullptr);
      if (rc == MDB_NOTFOUND) rc = 0;
    }
    return rc == 0 ? Result<void>{} : lmdb_error(rc, "journal: drop damaged rows");
  });
  if (!r) return r.error();
  return out;
}

Result<void> Journal::clear() {
  return env_.write([](MDB_txn* txn) -> Result<void> {
    MDB_dbi dbi = 0;
    int rc = mdb_dbi_open(txn, kDatabase, 0, &dbi);
    if (rc == MDB_NOTFOUND) return {};
    if (rc == 0) rc = mdb_drop(txn, dbi, 0);
    return rc == 0 ? Result<void>{} : lmdb_error(rc, "journal: clear");
  });
}

Adoption classify(const JournalEntry& entry,
                  std::string_view kernel_value,
                  std::uint64_t inode,
                  std::string_view boot_id) {
  // Unknown is not "the same": a value of another life must not be written back.
  if (boot_id.empty() || inode == 0 || entry.boot_id != boot_id || entry.inode != inode) {
    return Adoption::kDrop;
  }
  if (kernel_value == entry.original) return Adoption::kUntouched;
  // Empty: not written yet. An emptied cpuset reads as empty too, and is not ours.
  if (kernel_value.empty()) return Adoption::kThirdParty;
  if (kernel_value == entry.next || kernel_value == entry.previous) return Adoption::kOurs;
  return Adoption::kThirdParty;
}

}  // namespace koordlet::store
