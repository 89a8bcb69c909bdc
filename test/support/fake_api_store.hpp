#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace koordlet::test {

/// "/api/v1/namespaces/d/pods/p/eviction" taken apart.
struct FakeApiPath {
  std::string collection;  ///< without namespace: "/api/v1/pods"
  std::string ns, name;    ///< "" when the path has none
  std::string sub;         ///< "status", "eviction", ...
};
std::optional<FakeApiPath> parse_api_path(std::string_view path);

/// Keys of a query, percent-decoded.
std::map<std::string, std::string> parse_api_query(std::string_view query);

struct FakeApiEvent {
  std::int64_t version;
  std::string collection;
  std::string type;  ///< ADDED, MODIFIED, DELETED
  boost::json::value object;
};

/// The objects of a FakeApiServer and their history. One counter of versions for all, as in etcd.
class FakeApiStore {
 public:
  /// `collection` exists from now on, and is empty: "/api/v1/pods", "Pod".
  void serve(const std::string& collection, const std::string& kind);
  bool serves(const std::string& collection) const { return kinds_.count(collection) != 0; }
  const std::string& kind(const std::string& collection) const { return kinds_.at(collection); }
  /// "v1" of "/api/v1/pods", "g/v1" of "/apis/g/v1/things".
  static std::string api_version(const std::string& collection);

  /// Creates or replaces by metadata.namespace and name; sets resourceVersion and, when absent, uid
  /// ("uid-NAME"). Returns what is stored.
  const boost::json::value& put(const std::string& collection, boost::json::value object);
  bool erase(const std::string& collection, const std::string& ns, const std::string& name);
  const boost::json::value* find(const std::string& collection,
                                 const std::string& ns,
                                 const std::string& name) const;
  /// Those of a namespace ("" for all) that a fieldSelector matches, sorted by namespace and name.
  std::vector<boost::json::value> select(const std::string& collection,
                                         const std::string& ns,
                                         const std::string& field_selector) const;
  static bool matches(const boost::json::value& object, const std::string& field_selector);

  std::int64_t version() const { return version_; }
  void set_version(std::int64_t version) { version_ = version; }
  const std::vector<FakeApiEvent>& history() const { return history_; }
  /// Forgets the history: a watch from a version before this one is too old.
  void compact();
  std::int64_t oldest() const { return oldest_; }

 private:
  using Key = std::pair<std::string, std::string>;
  std::map<std::string, std::string> kinds_;
  std::map<std::string, std::map<Key, boost::json::value>> objects_;
  std::vector<FakeApiEvent> history_;
  std::int64_t version_ = 100;
  std::int64_t oldest_ = 0;
};

/// RFC 7396: null removes, objects merge, the rest replaces.
void merge_patch(boost::json::value& target, const boost::json::value& patch);

}  // namespace koordlet::test
