#pragma once

#include <algorithm>
#include <limits>

/// The forms of the basic types. Included by recording_archive.hpp only.
namespace koordlet::store {

template <class T>
void RecordWriter::value(const T& v) {
  using namespace archive;
  if constexpr (std::is_same_v<T, bool>) {
    out_ += v ? '\1' : '\0';
  } else if constexpr (std::is_enum_v<T>) {
    put_varint(out_, static_cast<std::uint64_t>(v));
  } else if constexpr (std::is_same_v<T, double>) {
    char raw[sizeof v];
    std::memcpy(raw, &v, sizeof v);
    out_.append(raw, sizeof raw);
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    put_varint(out_, zigzag(v));
  } else if constexpr (std::is_integral_v<T>) {
    put_varint(out_, v);
  } else if constexpr (std::is_same_v<T, std::string>) {
    put_varint(out_, v.size());
    out_ += v;
  } else if constexpr (kIs<T, Quantity>) {
    put_varint(out_, zigzag(std::clamp(v.v, -kMostRecorded, kMostRecorded)));
  } else if constexpr (std::is_same_v<T, MonoTime>) {
    const auto from = static_cast<std::uint64_t>(base_.time_since_epoch().count());
    const auto at = static_cast<std::uint64_t>(v.time_since_epoch().count());
    put_varint(out_, zigzag(static_cast<std::int64_t>(at - from)));
  } else if constexpr (std::is_same_v<T, WallTime>) {
    put_varint(out_, zigzag(v.time_since_epoch().count()));
  } else if constexpr (kIs<T, std::chrono::duration>) {
    put_varint(out_, zigzag(v.count()));
  } else if constexpr (std::is_same_v<T, CgroupPath>) {
    intern({}, v.str());
  } else if constexpr (std::is_same_v<T, CpuSet>) {
    value(v.to_string());
  } else if constexpr (kIs<T, Limit>) {
    value(v.bound());
  } else if constexpr (kIs<T, std::optional> || kIs<T, std::shared_ptr>) {
    out_ += v ? '\1' : '\0';
    if (v) value(*v);
  } else if constexpr (kIsArray<T>) {
    for (const auto& one : v) value(one);
  } else if constexpr (kIsList<T>) {
    put_varint(out_, v.size());
    for (const auto& one : v) value(one);
  } else {
    // A description never changes what the writer gives it.
    describe_any(*this, const_cast<T&>(v));
  }
}

template <class T>
void RecordReader::list(T& v) {
  using namespace archive;
  v.clear();
  for (std::size_t left = count(); left > 0 && !failed(); --left) {
    if constexpr (kIs<T, std::map>) {
      std::pair<typename T::key_type, typename T::mapped_type> one{};
      value(one);
      if (failed()) return;
      if (!v.insert(std::move(one)).second) fail("expected each key once");
    } else {
      typename T::value_type one{};
      value(one);
      if (failed()) return;
      if constexpr (kIs<T, std::set>) {
        if (!v.insert(std::move(one)).second) fail("expected each item once");
      } else {
        v.push_back(std::move(one));
      }
    }
  }
}

template <class T>
void RecordReader::value(T& v) {
  using namespace archive;
  if (failed()) return;
  if constexpr (std::is_same_v<T, bool>) {
    v = flag();
  } else if constexpr (std::is_enum_v<T>) {
    const auto raw = varint();
    if (raw > static_cast<std::uint64_t>(kLast<T>)) fail("expected a known choice");
    if (!failed()) v = static_cast<T>(raw);
  } else if constexpr (std::is_same_v<T, double>) {
    const auto raw = bytes(sizeof v);
    if (!failed()) std::memcpy(&v, raw.data(), sizeof v);
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    v = number(-(std::int64_t{1} << 62), std::int64_t{1} << 62);
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    v = static_cast<T>(number(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  } else if constexpr (std::is_integral_v<T>) {
    v = varint();
  } else if constexpr (std::is_same_v<T, std::string>) {
    v = bytes(count());
  } else if constexpr (kIs<T, Quantity>) {
    v.v = number(-kMostRecorded, kMostRecorded);
  } else if constexpr (std::is_same_v<T, MonoTime>) {
    const auto from = static_cast<std::uint64_t>(base_.time_since_epoch().count());
    const auto at =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(unzigzag(varint())) + from);
    // Within 146 years either way: differences of two stay within range.
    if (at < -(std::int64_t{1} << 62) || at > std::int64_t{1} << 62) fail("expected a time");
    v = MonoTime{MonoTime::duration{at}};
  } else if constexpr (std::is_same_v<T, WallTime>) {
    v = WallTime{WallTime::duration{number(0, std::int64_t{1} << 62)}};
  } else if constexpr (kIs<T, std::chrono::duration>) {
    v = T{number(-kMostRecorded, kMostRecorded)};
  } else if constexpr (std::is_same_v<T, CgroupPath>) {
    path(v);
  } else if constexpr (std::is_same_v<T, CpuSet>) {
    cpus(v);
  } else if constexpr (kIs<T, Limit>) {
    std::remove_cvref_t<decltype(v.bound())> bound;
    value(bound);
    v = bound ? T{*bound} : T::unlimited();
  } else if constexpr (kIs<T, std::optional>) {
    v.reset();
    if (flag()) value(v.emplace());
  } else if constexpr (kIs<T, std::shared_ptr>) {
    v = nullptr;
    if (!flag()) return;
    auto one = std::make_shared<std::remove_const_t<typename T::element_type>>();
    value(*one);
    v = std::move(one);
  } else if constexpr (kIsArray<T>) {
    for (auto& one : v) value(one);
  } else if constexpr (kIsList<T>) {
    list(v);
  } else {
    describe_any(*this, v);
  }
}

template <class T>
void RecordSchema::value(T& v) {
  using namespace archive;
  if constexpr (std::is_same_v<T, bool>) {
    mix("bool");
  } else if constexpr (std::is_enum_v<T>) {
    mix("enum");
  } else if constexpr (std::is_same_v<T, double>) {
    mix("double");
  } else if constexpr (std::is_integral_v<T>) {
    mix(std::is_signed_v<T> ? "signed" : "unsigned");
  } else if constexpr (std::is_same_v<T, std::string>) {
    mix("text");
  } else if constexpr (kIs<T, Quantity>) {
    mix("amount");
  } else if constexpr (std::is_same_v<T, MonoTime> || std::is_same_v<T, WallTime>) {
    mix("time");
  } else if constexpr (kIs<T, std::chrono::duration>) {
    mix("duration");
  } else if constexpr (std::is_same_v<T, CgroupPath> || std::is_same_v<T, CpuSet>) {
    mix("path or set");
  } else if constexpr (kIs<T, Limit>) {
    mix("limit");
  } else if constexpr (kIs<T, std::optional>) {
    of<typename T::value_type>("optional");
  } else if constexpr (kIs<T, std::shared_ptr>) {
    of<typename T::element_type>("optional");
  } else if constexpr (kIs<T, std::map>) {
    of<std::pair<typename T::key_type, typename T::mapped_type>>("map");
  } else if constexpr (kIsArray<T> || kIsList<T>) {
    of<typename T::value_type>("list");
  } else {
    mix("{");
    describe_any(*this, v);
    mix("}");
  }
}

}  // namespace koordlet::store
