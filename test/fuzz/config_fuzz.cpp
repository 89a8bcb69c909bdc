#include <string>

#include "app/config.hpp"
#include "app/setting.hpp"
#include "fuzz.hpp"

namespace {

using namespace koordlet;
using namespace koordlet::fuzz;

/// Bare file and value texts, as --set takes them.
void check_set(std::string_view text) {
  for (const auto& setting : app::settings()) {
    const auto value = app::convert_text(setting, text);
    if (!value) {
      require(value.error().context.starts_with("expected"), "a refusal says what was expected");
      continue;
    }
    const auto again = app::convert_text(setting, app::format_value(setting, *value));
    require(again.has_value() && *again == *value, "a value that is shown can be given again");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = std::string{text_of(data, size)};
  const auto reading = app::load_config_text(text, "f", {});
  for (const auto& fault : reading.faults) {
    require(!app::to_string(fault).empty(), "a fault has words");
    require(app::to_string(fault).find('\n') == std::string::npos, "a fault is one line");
  }
  for (const auto& entry : app::read_toml(text, "f").entries)
    require(app::find_setting(entry.key) != nullptr, "only known keys are read");
  if (text.size() <= 40) check_set(text);
  return 0;
}
