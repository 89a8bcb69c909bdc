#include <string>

#include "fuzz.hpp"
#include "store/recording_frame.hpp"

namespace {

using namespace koordlet::fuzz;
using namespace koordlet::store;

std::string spelt(const Frame& frame, WriteNames& names) {
  return std::visit([&](const auto& f) { return encode_frame(f, names); }, frame);
}

}  // namespace

/// A frame, read as the first of a file. What it says must survive one more writing and reading:
/// the second text is then the first's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ReadNames names;
  const auto frame = decode_frame(text_of(data, size), names);
  if (!frame) {
    require(!frame.error().context.empty(), "a refusal has words");
    return 0;
  }
  WriteNames first_names, second_names;
  const auto first = spelt(*frame, first_names);
  ReadNames own_names;
  const auto back = decode_frame(first, own_names);
  require(back.has_value(), "an own frame can be read");
  require(spelt(*back, second_names) == first, "a frame comes back");
  return 0;
}
