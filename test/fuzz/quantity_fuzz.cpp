#include <cstdlib>
#include <string>

#include "base/parse.hpp"
#include "fuzz.hpp"
#include "k8s/base64.hpp"
#include "k8s/quantity.hpp"
#include "k8s/server_url.hpp"
#include "k8s/time_text.hpp"
#include "net/http_date.hpp"

namespace {

using namespace koordlet;
using namespace koordlet::fuzz;

void check_amounts(std::string_view text) {
  const auto cpu = k8s::parse_cpu(text);
  if (cpu) {
    const auto back = k8s::parse_cpu(k8s::format_cpu(*cpu));
    require(back.has_value() && *back == *cpu, "milli-cores come back as they were spelt");
  }
  const auto whole = k8s::parse_integer(text);
  const auto memory = k8s::parse_memory(text);
  require(whole.has_value() == memory.has_value(), "bytes are a whole number");
  if (memory) {
    require(memory->v == *whole, "bytes are a whole number");
    const auto back = k8s::parse_memory(k8s::format_memory(*memory));
    require(back.has_value() && *back == *memory, "bytes come back as they were spelt");
  }
  constexpr std::int64_t kMost = 1'000'000'000;  // times 1000 is a number still
  if (!cpu || !whole || *whole >= kMost || *whole <= -kMost) return;
  const auto milli = std::abs(cpu->v), most = std::abs(*whole) * 1000;
  require(milli <= most && milli > most - 1000, "both are rounded away from zero");
}

void check_times(std::string_view text) {
  if (const auto d = k8s::parse_duration(text)) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*d);
    const auto back = k8s::parse_duration(k8s::format_duration(seconds));
    require(back.has_value() && *back == seconds, "whole seconds come back");
  }
  if (const auto ms = parse_span_ms(text)) require(*ms >= 0, "a span is never negative");
  if (const auto date = net::parse_http_date(text))
    require(k8s::format_time(*date).size() >= 20, "a date can be written");
}

void check_others(std::string_view text) {
  if (const auto bytes = k8s::decode_base64(text))
    require(bytes->size() <= text.size() / 4 * 3, "base64 is no longer than its text");
  if (const auto url = k8s::parse_server_url(text)) {
    const auto spelt = k8s::server_text(url->endpoint, url->base_path);
    const auto back = k8s::parse_server_url(spelt);
    require(back.has_value(), "an own address can be read");
    require(k8s::server_text(back->endpoint, back->base_path) == spelt, "an address comes back");
  }
  if (const auto real = parse_real(text)) require(*real == *real, "a number is a number");
  const auto shown = printable(text, 40);
  require(shown.size() <= 43, "shown text is cut");
  for (const char c : shown) require(c >= ' ' && c <= '~', "shown text is printable");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = text_of(data, size);
  check_amounts(text);
  check_times(text);
  check_others(text);
  return 0;
}
