#include <cstring>
#include <string>
#include <vector>

#include "fuzz.hpp"
#include "store/sample_block.hpp"

namespace {

using namespace koordlet::fuzz;
using namespace koordlet::store;

void round_trip(const std::vector<std::int64_t>& values) {
  std::string block;
  append_block(values, block);
  const std::string tail = block + "tail";
  std::string_view bytes{tail};
  std::vector<std::int64_t> back{7};
  require(read_block(bytes, values.size(), back), "an own block can be read");
  require(bytes == "tail", "what stands behind a block stays");
  back.erase(back.begin());
  require(back == values, "numbers come back without loss");
}

}  // namespace

/// Two bytes: how many values the block is said to hold. The rest is a block, and numbers.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices from{text_of(data, size)};
  const auto count = from.number(2);
  auto bytes = from.rest();
  std::vector<std::int64_t> read{7};
  const auto ok = read_block(bytes, count, read);
  require(read[0] == 7 && read.size() == (ok ? count + 1 : 1), "all values, or none");
  require(!ok || bytes.size() <= from.rest().size(), "a block ends inside the bytes");
  read.erase(read.begin());
  if (ok) round_trip(read);

  std::vector<std::int64_t> own(from.rest().size() / sizeof(std::int64_t));
  if (!own.empty()) std::memcpy(own.data(), from.rest().data(), own.size() * sizeof(std::int64_t));
  round_trip(own);
  // Near each other, multiples of a page: what samples look like.
  std::int64_t sum = 0;
  for (auto& v : own) v = (sum += v % 64) * 4096;
  round_trip(own);
  return 0;
}
