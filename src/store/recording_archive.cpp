#include "store/recording_archive.hpp"

namespace koordlet::store {

std::uint64_t RecordReader::varint() {
  std::uint64_t v = 0;
  if (!failed() && !get_varint(from_, v)) fail("expected a number, the frame ends");
  return failed() ? 0 : v;
}

std::int64_t RecordReader::number(std::int64_t low, std::int64_t high) {
  const auto v = unzigzag(varint());
  if (!failed() && (v < low || v > high)) {
    fail("expected " + std::to_string(low) + " to " + std::to_string(high) + ", got " +
         std::to_string(v));
  }
  return failed() ? std::clamp<std::int64_t>(0, low, high) : v;
}

bool RecordReader::flag() {
  const auto raw = bytes(1);
  if (failed()) return false;
  if (raw.front() != '\0' && raw.front() != '\1') fail("expected 0 or 1");
  return raw.front() == '\1';
}

/// Everything takes a byte at least.
std::size_t RecordReader::count() {
  const auto v = varint();
  if (!failed() && v > from_.size()) {
    fail("expected at most " + std::to_string(from_.size()) + " items, got " + std::to_string(v));
  }
  return failed() ? 0 : static_cast<std::size_t>(v);
}

std::string_view RecordReader::bytes(std::size_t size) {
  if (!failed() && size > from_.size()) fail("expected more bytes, the frame ends");
  if (failed()) return {};
  const auto out = from_.substr(0, size);
  from_.remove_prefix(size);
  return out;
}

void RecordReader::intern(std::string_view name, std::string& text) {
  if (failed()) return;
  const auto id = varint();
  if (!failed() && id > names_.size()) fail("expected a name that came before");
  if (!failed() && id > 0) {
    text = names_[static_cast<std::size_t>(id - 1)];
    unfolded_ += text.size();
    if (unfolded_ > kMostNameBytes) fail("expected at most 64 MiB of names");
  } else if (!failed()) {
    value(text);
    if (!failed() && text.size() <= kLongestName) names_.push_back(text);
  }
  if (failed() && !name.empty()) error_.insert(0, std::string{name} + ": ");
}

void RecordReader::path(CgroupPath& v) {
  std::string text;
  intern({}, text);
  if (failed()) return;
  auto parsed = CgroupPath::parse(text);
  if (!parsed) {
    fail(parsed.error().context);
  } else {
    v = std::move(*parsed);
  }
}

void RecordReader::cpus(CpuSet& v) {
  std::string text;
  value(text);
  if (failed()) return;
  const auto parsed = CpuSet::parse(text);
  if (!parsed) {
    fail(parsed.error().context);
  } else {
    v = *parsed;
  }
}

}  // namespace koordlet::store
