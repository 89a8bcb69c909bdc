#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "reactor/worker.hpp"
#include "store/journal.hpp"

namespace koordlet::executor {

/// The journal as the loop sees it: every call runs on the storage thread and is waited for at most
/// a moment, because no cap may wait for a stuck disk. Loop thread only.
class JournalWriter {
 public:
  /// A commit of 500 rows takes about 1 ms; this is how long a stuck storage thread holds up caps.
  static constexpr std::chrono::milliseconds kCommitWait{500};
  static constexpr std::chrono::milliseconds kLoadWait{5000};

  /// Both may be nullptr: no journal, nothing is kept; no storage thread, calls run in place. The
  /// journal must outlive the storage thread's queue.
  JournalWriter(store::Journal* journal, reactor::Worker* storage);

  bool present() const { return journal_ != nullptr; }

  /// kBusy: not done within kCommitWait, or an earlier call is still queued (then nothing was
  /// queued). A commit that was given up on may still happen later, before any later one.
  boost::asio::awaitable<Result<void>> commit(std::vector<store::JournalEntry> put,
                                              std::vector<CgroupKey> erase);
  boost::asio::awaitable<Result<std::vector<store::JournalEntry>>> load();

  /// Without waiting, for the way out: rows that stay are found untouched by the next start.
  void erase_later(std::vector<CgroupKey> keys);

 private:
  store::Journal* journal_;
  reactor::Worker* storage_;
  std::shared_ptr<int> in_flight_ = std::make_shared<int>(0);
};

}  // namespace koordlet::executor
