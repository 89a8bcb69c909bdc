#include <string>

#include "fuzz.hpp"
#include "kernel/cgroup_codec.hpp"
#include "kernel/item_lines.hpp"

namespace {

using namespace koordlet;
using namespace koordlet::fuzz;
using namespace koordlet::kernel;

constexpr CgroupVersion kVersions[] = {CgroupVersion::kV1, CgroupVersion::kV2};

/// The text of status and journal holds the value whole.
void check_text(CgroupFile file, const CgroupValue& value) {
  require(holds_type_of(file, value), "a file's value is of the file's kind");
  const auto back = parse_cgroup_value(file, to_string(value));
  const auto* line = std::get_if<Line>(&value);
  if (line != nullptr && line->v.empty()) return;  // only ever read, of a line without settings
  require(back.has_value() && *back == value, "a value's text is the value");
}

void check_file(CgroupVersion version, CgroupFile file, std::string_view text) {
  const auto value = decode(version, file, text);
  if (!value) {
    require(value.error().code == Errc::kParse, "what the kernel shows is well-formed or kParse");
    return;
  }
  check_text(file, *value);
  if (!check_range(version, {CgroupPath{}, file, {}}, *value)) return;
  if (version == CgroupVersion::kV1 && file == CgroupFile::kCpuMax) return;  // two files
  const auto written = encode(version, file, *value);
  require(!written.empty(), "a write has bytes");
  if (written == "-1") return;  // v1 takes it for "no limit" and shows a number
  const auto read = decode(version, file, written);
  require(read.has_value() && *read == *value, "what is written is read back");
}

void check_item(const CgroupKey& key, std::string_view text) {
  const auto value = decode_item(key, text);
  if (!value) return;
  check_text(key.file, *value);
  if (!check_range(CgroupVersion::kV2, key, *value)) return;
  const auto read = decode_item(key, encode_item(key, *value));
  require(read.has_value() && *read == *value, "an item that is written is read back");
}

std::string item_of(CgroupFile file, Choices& from) {
  switch (traits_of(file).item) {
    case ItemKind::kDevice:
      return std::to_string(from.number(1)) + ":" + std::to_string(from.number(1));
    case ItemKind::kDomain:
      return std::to_string(from.byte() % 3);
    case ItemKind::kName:
      return "GENTLE";
    default:
      return {};
  }
}

}  // namespace

/// Four bytes: file and item; the rest is its content.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices from{text_of(data, size)};
  const auto files = all_cgroup_files();
  const auto file = files[from.byte() % files.size()].file;
  const auto item = item_of(file, from);
  const auto text = from.rest();
  if (item.empty()) {
    for (const auto version : kVersions) check_file(version, file, text);
  } else {
    require(is_item_of(file, item), "the item fits the file");
    check_item({CgroupPath{}, file, item}, text);
  }
  if (const auto rate = decode_rate_v1(item, text)) {
    require(!rate->bound() || *rate->bound() > 0, "a rate is above 0 or unlimited");
    const auto back = decode_rate_v1("8:16", encode_rate_v1("8:16", *rate));
    require(back.has_value() && *back == *rate, "a rate that is written is read back");
  }
  if (const auto quota = decode_quota_v1(text))
    require(!quota->bound() || quota->bound()->count() > 0, "a quota is above 0");
  if (const auto period = decode_period_v1(text))
    require(period->count() > 0, "a period is above 0");
  if (const auto path = CgroupPath::parse(text)) {
    require(path->str() == text, "a path stays as it is spelt");
    require(text.find("..") == std::string_view::npos || path->depth() > 0, "no way up");
    require(path->is_root() || path->parent().is_ancestor_of(*path), "a parent is an ancestor");
    if (!path->is_root())
      require(path->parent().child(path->name()) == *path, "a name below its parent is the path");
  }
  if (const auto cpus = CpuSet::parse(text)) {
    const auto back = CpuSet::parse(cpus->to_string());
    require(back.has_value() && *back == *cpus, "a CPU list comes back");
  }
  return 0;
}
