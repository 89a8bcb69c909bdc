#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>

#include "base/clock.hpp"
#include "k8s/api_caller.hpp"

namespace koordlet {

/// What an answer means to a writer.
enum class Verdict {
  kDone,
  kConflict,  ///< 409: read again, write again
  kAbsent,    ///< 404
  kNoPatch,   ///< 403, 405, 415: this verb is not for us, another may be
  kLater,     ///< 429, 5xx: the server asks for time
  kFailed,
};
Verdict judge(unsigned status);

struct WriteResult {
  bool ok = false;
  std::string problem;  ///< "" when ok
  bool later = false;   ///< the server asked for time
  std::optional<std::chrono::seconds> retry_after;
};

/// Waits before the second, third and fourth attempt after a conflict.
inline constexpr std::chrono::milliseconds kConflictWaits[] = {
    std::chrono::milliseconds{10}, std::chrono::milliseconds{50}, std::chrono::milliseconds{250}};

/// Writes the status of one NodeMetric object. A merge patch needs no resourceVersion and cannot
/// conflict with the spec's owner; where patching is not allowed or not known, the object is read,
/// changed and put (and the patch tried again after 10 minutes: a role may have been mended). One
/// write at a time.
class StatusWriter {
 public:
  struct Counts {
    std::uint64_t patches = 0, puts = 0, conflicts = 0, created = 0;
  };
  /// `create`: an absent object is made with the default spec. `clock` outlives the writer.
  StatusWriter(std::string node_name, bool create, k8s::ApiCaller call, const Clock& clock);

  boost::asio::awaitable<WriteResult> write(boost::json::object status, std::string node_uid);
  const Counts& counts() const { return counts_; }
  /// Why the last patch was refused; "" while patches are in use.
  const std::string& no_patch() const { return no_patch_; }

 private:
  boost::asio::awaitable<Result<k8s::ApiAnswer>> patch(boost::json::object status);
  boost::asio::awaitable<Result<k8s::ApiAnswer>> replace(boost::json::object status);
  boost::asio::awaitable<WriteResult> create(std::string node_uid);
  bool may_patch() const;

  std::string name_;
  bool create_;
  k8s::ApiCaller call_;
  const Clock& clock_;
  std::string no_patch_;
  MonoTime patch_again_at_{};
  Counts counts_;
};

}  // namespace koordlet
