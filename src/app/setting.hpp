#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/config.hpp"

namespace koordlet::app {

enum class SettingType { kBool, kInteger, kOptionalInteger, kDuration, kSize, kText, kEnum };

/// What a text may be, beyond any text.
enum class TextRule {
  kAny,
  kAbsolutePath,
  kPathOrNone,
  kSocket,
  kLoopback,
  kNodeName,
  kUrl,
  kGroupNames,  ///< names of resctrl groups with commas between
};

/// A value of a key: monostate is "none" of an optional integer; durations are milliseconds, sizes
/// bytes, enums and texts strings.
using SettingValue = std::variant<std::monostate, bool, std::int64_t, std::string>;

/// One key. Reading TOML, --set, the flags, the generated file and the documentation all go by the
/// table of these.
struct Setting {
  std::string key;  ///< "qos.pressure.mid_percent"
  SettingType type{};
  std::int64_t min = std::numeric_limits<std::int64_t>::min();  ///< in the unit of SettingValue
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::int64_t step = 1;             ///< durations are whole multiples of it
  std::vector<std::string> choices;  ///< enum
  TextRule rule = TextRule::kAny;
  std::string about;  ///< one line
  std::string flag;   ///< command line flag without "--"; empty: --set only
  std::function<SettingValue(const Config&)> get;
  std::function<void(Config&, const SettingValue&)> set;

  std::string section() const { return key.substr(0, key.rfind('.')); }
  std::string name() const { return key.substr(key.rfind('.') + 1); }
};

/// Every key, sections in the order of the generated file.
const std::vector<Setting>& settings();
const Setting* find_setting(std::string_view key);  ///< nullptr: no such key

/// A value as TOML has it, before it is known to fit the key. `other` is a value that no key takes
/// (float, date, array, table).
struct RawValue {
  std::variant<bool, std::int64_t, std::string> value;
  bool other = false;
  std::string shown;  ///< for people, without line breaks, cut
};

/// The error's context is the "expected ..." part alone.
Result<SettingValue> convert(const Setting& setting, const RawValue& raw);
Result<SettingValue> convert_text(const Setting& setting, std::string_view text);

/// "expected a whole number from 1 to 100".
std::string expected(const Setting& setting);
/// "1 to 100", "10s to 10m", "\"restore\" or \"keep\"", "absolute path".
std::string range_text(const Setting& setting);
/// "65", "1m", "64MiB", "true", "none".
std::string format_value(const Setting& setting, const SettingValue& value);
/// The same as a TOML literal.
std::string toml_literal(const Setting& setting, const SettingValue& value);

/// "1s", "500ms", "1h30m"; units ms, s, m, h. kParse without a unit or with another one.
Result<std::int64_t> parse_duration_ms(std::string_view text);
std::string format_duration_ms(std::int64_t ms);
/// "64MiB"; units B, KiB, MiB, GiB, TiB.
Result<std::int64_t> parse_size(std::string_view text);
std::string format_size(std::int64_t bytes);

/// Outside text for a message: control characters become '?', long text is cut.
std::string printable(std::string_view text);

/// Rules over several keys, on good single values; key and expectation of each fault.
std::vector<ConfigFault> cross_check(const Config& config);

/// One key of a TOML file.
struct TomlEntry {
  std::string key;
  int line = 0;
  RawValue value;
};
struct TomlReading {
  std::vector<TomlEntry> entries;  ///< known keys only, at most one a key
  std::vector<ConfigFault> faults;
};
TomlReading read_toml(const std::string& text, const std::string& name);
/// What load_config_text() makes of them.
ConfigReading load_config_entries(TomlReading entries,
                                  const std::string& name,
                                  const Overrides& overrides);

}  // namespace koordlet::app
