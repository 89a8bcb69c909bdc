#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/toml_document.hpp"

namespace koordlet::app {

/// Takes the keys of one TOML table, checks each, and notes every fault; at the end, every key that
/// was not asked for is one. An absent key leaves its target alone.
class TomlFields {
 public:
  /// `path` names the table in faults ("group[2]", "" the file); all must outlive this.
  TomlFields(const toml::table& table,
             std::string path,
             const std::string& file,
             std::vector<ConfigFault>& faults);

  bool has(std::string_view key) const { return table_.contains(key); }
  /// True when the key is there and good.
  bool number(std::string_view key, double& out, double min, double max);
  bool whole(std::string_view key, std::int64_t& out, std::int64_t min, std::int64_t max);
  bool text(std::string_view key, std::string& out, std::size_t most);
  bool flag(std::string_view key, bool& out);
  /// "90s", "1h30m".
  bool duration(std::string_view key,
                std::chrono::milliseconds& out,
                std::chrono::milliseconds min,
                std::chrono::milliseconds max);
  bool size(std::string_view key, std::int64_t& out, std::int64_t min, std::int64_t max);
  /// Index into `words`.
  bool choice(std::string_view key, int& out, const std::vector<std::string>& words);
  template <class T>
  bool optional_number(std::string_view key, std::optional<T>& out, double min, double max) {
    double v = 0;
    if (!number(key, v, min, max)) return false;
    out = static_cast<T>(v);
    return true;
  }
  template <class T>
  bool optional_whole(std::string_view key,
                      std::optional<T>& out,
                      std::int64_t min,
                      std::int64_t max) {
    std::int64_t v = 0;
    if (!whole(key, v, min, max)) return false;
    out = static_cast<T>(v);
    return true;
  }
  /// nullptr: absent, or no table (a fault).
  const toml::table* table(std::string_view key);
  /// The tables of [[key]]; empty: absent, or something else (a fault).
  std::vector<const toml::table*> tables(std::string_view key);
  const toml::node* node(std::string_view key);  ///< taken as it is; nullptr: absent

  /// A fault of `key` here; `expectation` without the word "expected".
  void refuse(std::string_view key, std::string_view expectation);
  void require(std::string_view key);  ///< a fault if it is absent
  void refuse_unknown();               ///< every key that nobody asked for
  std::string path_of(std::string_view key) const;

 private:
  const toml::table& table_;
  std::string path_;
  const std::string& file_;
  std::vector<ConfigFault>& faults_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace koordlet::app
