#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include <boost/json/value.hpp>

namespace koordlet::k8s {

/// Decimal resourceVersion; nullopt for any other text (versions are opaque by contract, numbers in
/// practice).
std::optional<std::uint64_t> numeric_version(std::string_view text);

/// metadata.KEY of an object when it is text, else "".
std::string_view metadata_text(const boost::json::value& object, std::string_view key);

/// Which version of which object was applied: events that come twice or out of order do not turn
/// time back. Objects are told apart by uid, without one by namespace and name. Versions that are
/// not numbers are taken as they come.
class AppliedVersions {
 public:
  /// The objects of a list that is being read, until commit() or abandon().
  void stage(const boost::json::value& object);
  void commit();
  void abandon();

  enum class Verdict {
    kApply,
    kOld,      ///< this version or a newer one was applied
    kUnknown,  ///< DELETED of an object that is not there
    kNoName,   ///< nothing tells which object it is
  };
  /// What to do with an event; kApply remembers it as applied.
  Verdict update(const boost::json::value& object);
  Verdict remove(const boost::json::value& object);
  std::size_t size() const { return live_.size(); }

 private:
  using Version = std::optional<std::uint64_t>;
  void bury(std::string key, Version version);

  std::unordered_map<std::string, Version> live_, staged_;
  /// Deleted objects, so that a late event does not raise them; the oldest are forgotten.
  std::unordered_map<std::string, Version> dead_;
  std::deque<std::string> burials_;
};

}  // namespace koordlet::k8s
