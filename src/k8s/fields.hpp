#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

namespace koordlet::k8s {

namespace json = boost::json;

/// A value as a message shows it: JSON text cut to 60 bytes; containers as "an object", "an array".
std::string shown(const json::value& value);

/// What a decoder refused, one line a field: "nodeslo n1: spec.x.y: 101: expected 0..100". At most
/// kMax lines, the rest is counted.
class Refusals {
 public:
  static constexpr std::size_t kMax = 50;
  explicit Refusals(std::string subject) : subject_{std::move(subject)} {}

  void add(std::string_view field, const json::value& got, std::string_view expected);
  void add(std::string_view field, std::string_view problem);
  std::size_t count() const { return lines_.size() + dropped_; }  ///< since the last take()
  std::vector<std::string> take();

 private:
  std::string subject_;
  std::vector<std::string> lines_;
  std::size_t dropped_ = 0;
};

/// One read of a field. Absent and null are the same: no value, not refused.
template <class T>
struct Read {
  std::optional<T> value;
  bool refused = false;
  /// A refused field keeps its last good value.
  std::optional<T> or_last(const std::optional<T>& last) const { return refused ? last : value; }
};

enum class KeyCase {
  kExact,  ///< API objects
  kAny,    ///< annotations and kubelet bodies: exact match first, then any case (section 0)
};

/// A JSON object with the path that leads to it. Refers to the value and to the refusals: both must
/// outlive it.
class Fields {
 public:
  Fields(const json::object& object,
         std::string path,
         Refusals& refusals,
         KeyCase key_case = KeyCase::kExact)
      : object_{&object}, path_{std::move(path)}, refusals_{&refusals}, case_{key_case} {}

  const json::value* find(std::string_view key) const;  ///< nullptr: absent or null
  std::string path(std::string_view key) const;
  void refuse(std::string_view key, const json::value& got, std::string_view expected) const {
    refusals_->add(path(key), got, expected);
  }
  void refuse(std::string_view key, std::string_view problem) const {
    refusals_->add(path(key), problem);
  }

  Read<bool> boolean(std::string_view key) const;
  Read<std::int64_t> integer(std::string_view key, std::int64_t low, std::int64_t high) const;
  /// A refused field keeps `last`, an absent one is absent. `low` and `high` fit an int.
  std::optional<int> int_or_last(std::string_view key,
                                 std::int64_t low,
                                 std::int64_t high,
                                 const std::optional<int>& last) const;
  Read<std::string> text(std::string_view key) const;
  Read<Fields> object(std::string_view key) const;
  /// nullptr when absent or refused.
  const json::array* array(std::string_view key) const;

  const json::object& raw() const { return *object_; }
  Refusals& refusals() const { return *refusals_; }

 private:
  const json::object* object_;
  std::string path_;
  Refusals* refusals_;
  KeyCase case_;
};

/// Quantities arrive as text or as numbers; nullopt for any other type.
std::optional<std::string> quantity_text(const json::value& value);

/// Parses the JSON text of an annotation; refused (and nullopt) when it is not a JSON object.
std::optional<json::object> parse_annotation(std::string_view key,
                                             std::string_view text,
                                             Refusals& refusals);

}  // namespace koordlet::k8s
