#pragma once

#include <string>

#include <toml++/toml.h>

#include "app/setting.hpp"

/// A TOML file as a tree, and the daemon's keys in it. Kept apart from setting.hpp: toml++ is
/// costly to compile.
namespace koordlet::app {

struct TomlDocument {
  toml::table root;                 ///< without the lines that could not be read
  std::vector<ConfigFault> faults;  ///< of the syntax, all of them
};
TomlDocument parse_toml(const std::string& text, const std::string& name);

RawValue raw_value(const toml::node& node);
int line_of(const toml::source_region& region);

/// Keys of the daemon's configuration below `prefix` ("" for the whole file), unknown ones as
/// faults.
void read_settings(const toml::table& table,
                   const std::string& prefix,
                   const std::string& name,
                   TomlReading& out);

}  // namespace koordlet::app
