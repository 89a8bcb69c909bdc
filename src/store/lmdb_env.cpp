#include "store/lmdb_env.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>
#include <lmdb.h>

#include "kernel/fd.hpp"
#include "store/lmdb_file.hpp"
#include "store/set_aside.hpp"

namespace koordlet::store {
namespace {

constexpr std::uint64_t kMinMap = 256 << 10;
constexpr off_t kLockFile = 16 << 10;           // more than LMDB's 126 reader slots take
constexpr std::uint64_t kDiskStep = 256 << 10;  // blocks taken from the disk at a time
constexpr std::string_view kOwnerLock = "owner.lock";

// A folder that cannot be used is one class of fault, whatever the errno: the operator has to give
// the daemon another folder or the right to this one.
Error folder_error(int err, const std::string& folder, std::string_view action) {
  auto e = errno_error(err, folder, action);
  switch (err) {
    case EROFS:
    case EACCES:
    case EPERM:
    case ENOTDIR:
    case EEXIST:
    case EISDIR:
    case ELOOP:
      e.code = Errc::kDenied;
      break;
    default:
      break;
  }
  return e;
}

Result<void> make_folder(const std::string& folder) {
  std::error_code ec;
  const std::filesystem::path path{folder};
  if (path.has_parent_path()) {
    std::filesystem::create_directories(path.parent_path(), ec);
    if (ec) return folder_error(ec.value(), folder, "create the parent folders");
  }
  if (::mkdir(folder.c_str(), 0700) == 0) return {};
  const int err = errno;
  struct stat st {};
  if (err == EEXIST && ::stat(folder.c_str(), &st) == 0 && S_ISDIR(st.st_mode)) return {};
  if (err == EEXIST) return Error{Errc::kDenied, folder + ": expected a folder, found a file"};
  return folder_error(err, folder, "create");
}

Result<kernel::Fd> own_folder(const std::string& folder) {
  const auto path = fmt::format("{}/{}", folder, kOwnerLock);
  kernel::Fd fd{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!fd) return folder_error(errno, folder, "open owner.lock");
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno == EWOULDBLOCK) return Error{Errc::kBusy, folder + ": used by another koordlet"};
  return folder_error(errno, folder, "lock owner.lock");
}

/// LMDB maps the lock file as soon as it has made it, with holes: touching one on a full disk is a
/// SIGBUS. With blocks taken first the full disk is an error.
Result<void> reserve_lock_file(const std::string& folder) {
  const auto path = folder + "/lock.mdb";
  const kernel::Fd fd{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!fd) return folder_error(errno, folder, "open lock.mdb");
  const int rc = ::posix_fallocate(fd.get(), 0, kLockFile);
  // A file system that cannot allocate ahead is not a full one.
  if (rc == ENOSPC || rc == EDQUOT) return folder_error(rc, folder, "allocate lock.mdb");
  return {};
}

class Txn {
 public:
  Txn() = default;
  Txn(const Txn&) = delete;
  Txn& operator=(const Txn&) = delete;
  ~Txn() {
    if (txn_ != nullptr) mdb_txn_abort(txn_);
  }
  int begin(MDB_env* env, unsigned flags) { return mdb_txn_begin(env, nullptr, flags, &txn_); }
  int commit() { return mdb_txn_commit(std::exchange(txn_, nullptr)); }
  MDB_txn* get() const { return txn_; }

 private:
  MDB_txn* txn_ = nullptr;
};

// A free list row: how many pages, then their numbers.
std::uint64_t free_pages(MDB_txn* txn) {
  MDB_cursor* cursor = nullptr;
  if (mdb_cursor_open(txn, 0, &cursor) != 0) return 0;
  std::uint64_t pages = 0;
  MDB_val key{}, data{};
  while (mdb_cursor_get(cursor, &key, &data, MDB_NEXT) == 0) {
    std::uint64_t count = 0;
    if (data.mv_size >= sizeof count) std::memcpy(&count, data.mv_data, sizeof count);
    pages += count;
  }
  mdb_cursor_close(cursor);
  return pages;
}

}  // namespace

struct LmdbEnv::Impl {
  Options options;
  kernel::Fd owner;
  MDB_env* env = nullptr;
  std::string moved_aside, aside_reason;
  std::uint64_t page_size = 4096;
  std::uint64_t on_disk = 0;  // bytes of the file that have disk blocks
  bool writing = false;

  ~Impl() { close(); }
  void close() {
    if (env != nullptr) mdb_env_close(std::exchange(env, nullptr));
  }
  int start();
};

int LmdbEnv::Impl::start() {
  if (const int rc = mdb_env_create(&env); rc != 0) return rc;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto map = (options.map_size + page - 1) / page * page;
  int rc = mdb_env_set_mapsize(env, map);
  if (rc == 0) rc = mdb_env_set_maxdbs(env, options.max_dbs);
  const unsigned flags = MDB_NOTLS | (options.no_sync ? MDB_NOSYNC : 0U);
  if (rc == 0) rc = mdb_env_open(env, options.folder.c_str(), flags, 0600);
  if (rc == 0) {
    MDB_stat stat{};
    rc = mdb_env_stat(env, &stat);
    page_size = stat.ms_psize;
  }
  if (rc != 0) close();
  return rc;
}

LmdbEnv::LmdbEnv(std::unique_ptr<Impl> impl) : impl_{std::move(impl)} {}
LmdbEnv::LmdbEnv(LmdbEnv&&) noexcept = default;
LmdbEnv& LmdbEnv::operator=(LmdbEnv&&) noexcept = default;
LmdbEnv::~LmdbEnv() = default;

Result<LmdbEnv> LmdbEnv::open(const Options& options) {
  if (options.folder.empty()) return Error{Errc::kRange, "folder: expected a path, got nothing"};
  if (options.map_size < kMinMap) {
    return Error{Errc::kRange,
                 fmt::format("{}: map_size: expected {} bytes or more, got {}",
                             options.folder,
                             kMinMap,
                             options.map_size)};
  }
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  auto& folder = impl->options.folder;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (auto r = make_folder(folder); !r) return r.error();
  auto owner = own_folder(folder);
  if (!owner) return owner.error();
  impl->owner = std::move(*owner);

  auto sound = check_lmdb_file(folder + "/data.mdb");
  bool damaged = !sound && sound.error().code == Errc::kParse;
  std::string reason = damaged ? sound.error().context : std::string{};
  if (!sound && !damaged && sound.error().code != Errc::kNotFound) {
    return sound.error();
  }
  // Twice at most: the second time on a folder without a data file.
  for (int attempt = 0;; ++attempt) {
    if (damaged) {
      auto moved = move_store_files(folder, "damaged");
      if (!moved) return moved.error();
      impl->moved_aside = *moved;
      impl->aside_reason = reason;
    }
    if (auto r = reserve_lock_file(folder); !r) return r.error();
    const int rc = impl->start();
    if (rc == 0) break;
    const auto error = lmdb_error(rc, "open");
    damaged = is_damaged(error);
    reason = error.context;
    if (!damaged || attempt > 0) {
      return rc > 0 ? folder_error(rc, folder, "open the environment") : wrap(folder, error);
    }
  }
  LmdbEnv env{std::move(impl)};
  env.clear_dead_readers();
  return env;
}

Result<std::string> LmdbEnv::set_aside(LmdbEnv env, std::string_view reason) {
  env.impl_->close();
  return move_store_files(env.folder(), reason);
}

const std::string& LmdbEnv::folder() const { return impl_->options.folder; }
const std::string& LmdbEnv::moved_aside() const { return impl_->moved_aside; }
const std::string& LmdbEnv::aside_reason() const { return impl_->aside_reason; }
MDB_env* LmdbEnv::get() const { return impl_->env; }
std::uint64_t LmdbEnv::page_size() const { return impl_->page_size; }

std::uint64_t LmdbEnv::map_size() const {
  MDB_envinfo info{};
  return mdb_env_info(impl_->env, &info) == 0 ? info.me_mapsize : impl_->options.map_size;
}

std::uint64_t LmdbEnv::used_bytes() const {
  MDB_envinfo info{};
  if (mdb_env_info(impl_->env, &info) != 0) return impl_->options.map_size;
  const std::uint64_t pages = info.me_last_pgno + 1;
  Txn txn;
  const auto free = txn.begin(impl_->env, MDB_RDONLY) == 0 ? free_pages(txn.get()) : 0;
  return (pages - std::min(free, pages)) * impl_->page_size;
}

std::uint64_t LmdbEnv::reserve(std::uint64_t bytes) {
  const auto map = map_size();
  auto& on_disk = impl_->on_disk;
  int fd = -1;
  struct stat st {};
  if (mdb_env_get_fd(impl_->env, &fd) != 0) return map;
  if (::fstat(fd, &st) == 0) {
    // Blocks that an earlier run took ahead lie behind the end of the file, in whole steps.
    const auto blocks = static_cast<std::uint64_t>(st.st_blocks) * 512 / kDiskStep * kDiskStep;
    on_disk = std::max({on_disk, static_cast<std::uint64_t>(st.st_size), std::min(blocks, map)});
  }
  if (bytes <= on_disk || on_disk >= map) return map;
  const auto target = std::min(map, (bytes + kDiskStep - 1) / kDiskStep * kDiskStep);
  // Asked first: an allocation that fails half way keeps what it got.
  struct statvfs disk {};
  if (::fstatvfs(fd, &disk) != 0) return map;
  if (disk.f_bavail * disk.f_frsize < target - on_disk) return on_disk;
  if (::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(target)) == 0) {
    on_disk = target;
    return map;
  }
  // A file system without allocation ahead is not a full one.
  return errno == ENOSPC || errno == EDQUOT ? on_disk : map;
}

int LmdbEnv::reader_slots() const {
  int lines = 0;
  const auto count = [](const char* text, void* to) {
    // "    pid     thread     txnid" is the one header line.
    if (std::strstr(text, "pid") == nullptr && std::strstr(text, "no active") == nullptr) {
      ++*static_cast<int*>(to);
    }
    return 0;
  };
  mdb_reader_list(impl_->env, count, &lines);
  return lines;
}

int LmdbEnv::clear_dead_readers() {
  int dead = 0;
  return mdb_reader_check(impl_->env, &dead) == 0 ? dead : 0;
}

Result<void> LmdbEnv::write(const std::function<Result<void>(MDB_txn*)>& f) {
  if (impl_->writing) return Error{Errc::kInvalid, "a write transaction inside another"};
  struct Flag {  // LMDB would wait for itself
    bool& flag;
    explicit Flag(bool& f) : flag{f} { flag = true; }
    ~Flag() { flag = false; }
  } writing{impl_->writing};
  Txn txn;
  if (const int rc = txn.begin(impl_->env, 0); rc != 0) return lmdb_error(rc, "begin");
  if (auto r = f(txn.get()); !r) return r;
  if (const int rc = txn.commit(); rc != 0) return lmdb_error(rc, "commit");
  return {};
}

Result<void> LmdbEnv::read(const std::function<Result<void>(MDB_txn*)>& f) {
  Txn txn;
  if (const int rc = txn.begin(impl_->env, MDB_RDONLY); rc != 0) return lmdb_error(rc, "begin");
  return f(txn.get());
}

Error lmdb_error(int rc, std::string_view action) {
  if (rc > 0) return errno_error(rc, "lmdb", action);
  auto code = Errc::kIo;
  switch (rc) {
    case MDB_MAP_FULL:
      code = Errc::kBusy;
      break;
    case MDB_NOTFOUND:
      code = Errc::kNotFound;
      break;
    case MDB_KEYEXIST:
    case MDB_BAD_VALSIZE:
      code = Errc::kRange;
      break;
    case MDB_INVALID:
    case MDB_VERSION_MISMATCH:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_PANIC:
    case MDB_INCOMPATIBLE:
      code = Errc::kParse;
      break;
    default:
      break;
  }
  return {code, fmt::format("lmdb: {}: {}", action, mdb_strerror(rc))};
}

// The codes are shared with errors of callers, the name that mdb_strerror gives is not.
bool is_map_full(const Error& e) {
  return e.code == Errc::kBusy && e.context.find("MDB_MAP_FULL") != std::string::npos;
}

bool is_disk_full(const Error& e) {
  return e.context.find(fmt::format("(errno {})", ENOSPC)) != std::string::npos ||
         e.context.find(fmt::format("(errno {})", EDQUOT)) != std::string::npos;
}

bool is_damaged(const Error& e) {
  return e.code == Errc::kParse && e.context.find("MDB_") != std::string::npos;
}

}  // namespace koordlet::store
