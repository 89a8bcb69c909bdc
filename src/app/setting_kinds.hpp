#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/setting.hpp"
#include "base/parse.hpp"

/// Builders of the rows of the key table, one a type. `at` names the member: it takes a Config,
/// const or not, and returns a reference. The default is what the member holds in a fresh Config,
/// so that no default stands twice.
namespace koordlet::app {

constexpr std::int64_t kSecond = 1000;  // in the milliseconds of SettingValue

inline Setting base(std::string key, SettingType type, std::string about) {
  Setting s;
  s.key = std::move(key);
  s.type = type;
  s.about = std::move(about);
  return s;
}

template <class Access>
Setting boolean(std::string key, Access at, std::string about) {
  Setting s = base(std::move(key), SettingType::kBool, std::move(about));
  s.get = [at](const Config& c) { return SettingValue{static_cast<bool>(at(c))}; };
  s.set = [at](Config& c, const SettingValue& v) { at(c) = std::get<bool>(v); };
  return s;
}

template <class Access>
Setting number(std::string key,
               Access at,
               std::int64_t min,
               std::int64_t max,
               std::string about,
               SettingType type = SettingType::kInteger) {
  Setting s = base(std::move(key), type, std::move(about));
  s.min = min;
  s.max = max;
  s.get = [at](const Config& c) { return SettingValue{static_cast<std::int64_t>(at(c))}; };
  s.set = [at](Config& c, const SettingValue& v) {
    auto& member = at(c);
    member = static_cast<std::remove_cvref_t<decltype(member)>>(std::get<std::int64_t>(v));
  };
  return s;
}

template <class Access>
Setting size(std::string key, Access at, std::int64_t min, std::int64_t max, std::string about) {
  return number(std::move(key), at, min, max, std::move(about), SettingType::kSize);
}

template <class Access>
Setting optional_number(
    std::string key, Access at, std::int64_t min, std::int64_t max, std::string about) {
  Setting s = base(std::move(key), SettingType::kOptionalInteger, std::move(about));
  s.min = min;
  s.max = max;
  s.get = [at](const Config& c) {
    const auto& member = at(c);
    return member ? SettingValue{std::int64_t{*member}} : SettingValue{};
  };
  s.set = [at](Config& c, const SettingValue& v) {
    auto& member = at(c);
    member.reset();
    if (const auto* n = std::get_if<std::int64_t>(&v)) member = static_cast<int>(*n);
  };
  return s;
}

/// Members are chrono durations, or an int that counts seconds.
template <class Access>
Setting duration(
    std::string key, Access at, std::int64_t min, std::int64_t max, std::string about) {
  using Member = std::remove_cvref_t<decltype(at(std::declval<Config&>()))>;
  Setting s = base(std::move(key), SettingType::kDuration, std::move(about));
  s.min = min;
  s.max = max;
  if constexpr (std::is_same_v<Member, int>) {
    s.step = kSecond;
    s.get = [at](const Config& c) { return SettingValue{std::int64_t{at(c)} * kSecond}; };
    s.set = [at](Config& c, const SettingValue& v) {
      at(c) = static_cast<int>(std::get<std::int64_t>(v) / kSecond);
    };
  } else {
    if (std::is_same_v<Member, std::chrono::seconds>) s.step = kSecond;
    s.get = [at](const Config& c) {
      return SettingValue{
          std::int64_t{std::chrono::duration_cast<std::chrono::milliseconds>(at(c)).count()}};
    };
    s.set = [at](Config& c, const SettingValue& v) {
      at(c) =
          std::chrono::duration_cast<Member>(std::chrono::milliseconds{std::get<std::int64_t>(v)});
    };
  }
  return s;
}

template <class Access>
Setting text(std::string key, Access at, TextRule rule, std::string about) {
  Setting s = base(std::move(key), SettingType::kText, std::move(about));
  s.rule = rule;
  s.get = [at](const Config& c) { return SettingValue{std::string{at(c)}}; };
  s.set = [at](Config& c, const SettingValue& v) { at(c) = std::get<std::string>(v); };
  return s;
}

/// Members are lists of words; the text has them with commas between.
template <class Access>
Setting words(std::string key, Access at, TextRule rule, std::string about) {
  Setting s = base(std::move(key), SettingType::kText, std::move(about));
  s.rule = rule;
  s.get = [at](const Config& c) {
    std::string out;
    for (const auto& word : at(c)) out += (out.empty() ? "" : ",") + word;
    return SettingValue{std::move(out)};
  };
  s.set = [at](Config& c, const SettingValue& v) {
    auto& member = at(c);
    member.clear();
    const auto& text = std::get<std::string>(v);
    for (std::size_t from = 0; from < text.size();) {
      const auto end = std::min(text.find(',', from), text.size());
      const auto word = trim(std::string_view{text}.substr(from, end - from));
      if (!word.empty()) member.emplace_back(word);
      from = end + 1;
    }
  };
  return s;
}

/// `values` pairs each spelling with the value of the member.
template <class Member, class Access>
Setting choice(std::string key,
               Access at,
               std::vector<std::pair<std::string, Member>> values,
               std::string about) {
  Setting s = base(std::move(key), SettingType::kEnum, std::move(about));
  for (const auto& v : values) s.choices.push_back(v.first);
  s.get = [at, values](const Config& c) {
    for (const auto& v : values) {
      if (v.second == at(c)) return SettingValue{v.first};
    }
    return SettingValue{std::string{"?"}};
  };
  s.set = [at, values](Config& c, const SettingValue& chosen) {
    for (const auto& v : values) {
      if (v.first == std::get<std::string>(chosen)) at(c) = v.second;
    }
  };
  return s;
}

inline Setting with_flag(std::string flag, Setting s) {
  s.flag = std::move(flag);
  return s;
}

}  // namespace koordlet::app
