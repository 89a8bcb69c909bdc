#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/cgroup.hpp"
#include "base/clock.hpp"
#include "base/cpu_set.hpp"
#include "base/limit.hpp"
#include "base/units.hpp"
#include "store/bits.hpp"

/// Values as bytes and back, by one description of each type: describe(archive, value) names its
/// fields in order, and serves writer, reader and schema alike (docs/recorder.md has the forms).
namespace koordlet::store {

/// The last enumerator of an enum that is recorded; what lies beyond is refused.
template <class E>
inline constexpr E kLast{};

/// Amounts beyond this are recorded as this: sums of what a file holds cannot overflow.
inline constexpr std::int64_t kMostRecorded = std::int64_t{1} << 50;
/// A longer text never becomes a number.
inline constexpr std::size_t kLongestName = 1024;
/// Most bytes of names that one frame may unfold to.
inline constexpr std::size_t kMostNameBytes = std::size_t{64} << 20;

namespace archive {
template <class T, template <class...> class Of>
inline constexpr bool kIs = false;
template <template <class...> class Of, class... Args>
inline constexpr bool kIs<Of<Args...>, Of> = true;
template <class T>
inline constexpr bool kIsArray = false;
template <class T, std::size_t N>
inline constexpr bool kIsArray<std::array<T, N>> = true;
template <class T>
inline constexpr bool kIsList =
    kIs<T, std::vector> || kIs<T, std::deque> || kIs<T, std::set> || kIs<T, std::map>;

template <class A, class K, class V>
void describe(A& a, std::pair<K, V>& p) {
  if constexpr (std::is_same_v<std::remove_const_t<K>, std::string>) {
    a.intern("key", const_cast<std::string&>(p.first));
  } else {
    a("key", const_cast<std::remove_const_t<K>&>(p.first));
  }
  a("value", p.second);
}

/// A type with a member describe() hides its fields; the rest have a free function beside them.
template <class A, class T>
void describe_any(A& a, T& v) {
  if constexpr (requires { v.describe(a); }) {
    v.describe(a);
  } else {
    describe(a, v);
  }
}
}  // namespace archive

/// Appends to a text. Names that come again are a number: one map a file.
class RecordWriter {
 public:
  using Names = std::unordered_map<std::string, std::uint64_t>;
  static constexpr bool kWriting = true;

  /// Times are kept as the difference to `base`.
  RecordWriter(std::string& out, Names& names, MonoTime base)
      : out_{out}, names_{names}, base_{base} {}

  template <class T>
  void operator()(std::string_view, const T& v) {
    value(v);
  }
  void intern(std::string_view, const std::string& text) {
    if (text.size() > kLongestName) {
      put_varint(out_, 0);
      return value(text);
    }
    const auto [it, fresh] = names_.try_emplace(text, names_.size() + 1);
    put_varint(out_, fresh ? 0 : it->second);
    if (fresh) value(text);
  }

 private:
  template <class T>
  void value(const T& v);

  std::string& out_;
  Names& names_;
  MonoTime base_;
};

/// Reads what RecordWriter wrote. Bytes are not trusted: the first fault stops everything, every
/// count is bounded by the bytes that are left, and nothing is read past the end.
class RecordReader {
 public:
  using Names = std::vector<std::string>;
  static constexpr bool kWriting = false;

  RecordReader(std::string_view from, Names& names, MonoTime base)
      : from_{from}, names_{names}, base_{base} {}

  template <class T>
  void operator()(std::string_view name, T& v) {
    if (failed()) return;
    value(v);
    if (failed()) error_.insert(0, std::string{name} + ": ");
  }
  void intern(std::string_view name, std::string& text);
  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }  ///< "pods: key: expected ..."
  std::string_view rest() const { return from_; }
  void fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }

 private:
  template <class T>
  void value(T& v);
  template <class T>
  void list(T& v);
  std::uint64_t varint();
  std::int64_t number(std::int64_t low, std::int64_t high);
  bool flag();
  std::size_t count();
  std::string_view bytes(std::size_t size);
  void path(CgroupPath& v);
  void cpus(CpuSet& v);

  std::string_view from_;
  Names& names_;
  MonoTime base_;
  std::size_t unfolded_ = 0;  ///< bytes of names so far
  std::string error_;
};

/// The names and types of all fields as one number: a file of another one cannot be read.
class RecordSchema {
 public:
  static constexpr bool kWriting = false;

  template <class T>
  void operator()(std::string_view name, T& v) {
    mix(name);
    value(v);
  }
  void intern(std::string_view name, std::string&) {
    mix(name);
    mix("name");
  }
  std::uint64_t hash() const { return hash_; }

 private:
  void mix(std::string_view text) {
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    hash_ = (hash_ ^ 0xFF) * 0x100000001b3ULL;
  }
  template <class T>
  void of(std::string_view kind) {
    mix(kind);
    std::remove_const_t<T> one{};
    value(one);
  }
  template <class T>
  void value(T& v);

  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

}  // namespace koordlet::store

#include "store/recording_archive_impl.hpp"
