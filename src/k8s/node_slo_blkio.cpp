#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "k8s/node_slo_sections.hpp"

namespace koordlet::k8s {
namespace {

constexpr std::size_t kMostBlocks = 256;
constexpr auto kMost = std::numeric_limits<std::int64_t>::max();

/// False when the field is there and refused; absent leaves `out`.
template <class Int>
bool take(const Fields& f, std::string_view key, std::int64_t low, std::int64_t high, Int& out) {
  const auto read = f.integer(key, low, high);
  if (read.value) out = static_cast<Int>(*read.value);
  return !read.refused;
}

bool decode_kind(const Fields& f, IoBlockKind& out) {
  const auto text = f.text("type");
  if (text.refused) return false;
  const auto kind = text.value.value_or("");
  if (kind == "device") {
    out = IoBlockKind::kDevice;
  } else if (kind == "volumegroup") {
    out = IoBlockKind::kVolumeGroup;
  } else if (kind == "podvolume") {
    out = IoBlockKind::kPodVolume;
  } else {
    f.refuse("type", json::value(kind), "device, volumegroup or podvolume");
    return false;
  }
  return true;
}

bool decode_model(const Fields& f, IoBlock& out) {
  const auto user = f.boolean("enableUserModel");
  if (user.refused) return false;
  out.user_model = user.value.value_or(false);
  constexpr std::array<std::string_view, 6> kNames{"modelReadBPS",
                                                   "modelReadSeqIOPS",
                                                   "modelReadRandIOPS",
                                                   "modelWriteBPS",
                                                   "modelWriteSeqIOPS",
                                                   "modelWriteRandIOPS"};
  bool good = true;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    // Beside a model of the kernel's own these are no settings.
    good = take(f, kNames[i], out.user_model ? 1 : 0, kMost, out.model[i]) && good;
    if (good && out.user_model && out.model[i] == 0) {
      f.refuse(kNames[i], "absent: expected 1 or more with enableUserModel");
      good = false;
    }
  }
  return good;
}

bool decode_io(const Fields& f, IoBlock& out) {
  bool good = take(f, "readBPS", 0, kMost, out.read_bps);
  good = take(f, "writeBPS", 0, kMost, out.write_bps) && good;
  good = take(f, "readIOPS", 0, kMost, out.read_iops) && good;
  good = take(f, "writeIOPS", 0, kMost, out.write_iops) && good;
  const auto weight = f.integer("ioWeightPercent", 1, 100);
  if (weight.value) out.weight_percent = static_cast<int>(*weight.value);
  good = !weight.refused && good;
  good = take(f, "readLatency", 0, kMost, out.read_latency_us) && good;
  good = take(f, "writeLatency", 0, kMost, out.write_latency_us) && good;
  good = take(f, "readLatencyPercent", 0, 100, out.read_latency_percent) && good;
  good = take(f, "writeLatencyPercent", 0, 100, out.write_latency_percent) && good;
  return decode_model(f, out) && good;
}

std::optional<IoBlock> decode_block(const Fields& f) {
  IoBlock out;
  const auto name = f.text("name");
  if (name.refused) return std::nullopt;
  out.name = name.value.value_or("");
  const bool good_name = !out.name.empty() && out.name.size() <= 253 && out.name != "." &&
                         out.name != ".." &&
                         std::all_of(out.name.begin(), out.name.end(), [](char c) {
                           return c > 0x20 && c < 0x7f && c != '/';
                         });
  if (!good_name) {
    f.refuse("name", json::value(out.name), "the name of a disk, volume group or volume");
    return std::nullopt;
  }
  if (!decode_kind(f, out.kind)) return std::nullopt;
  const auto io = f.object("ioCfg");
  if (io.refused || (io.value && !decode_io(*io.value, out))) return std::nullopt;
  return out;
}

BlkIoClass decode_class(const Fields& strategy, const char* name, const BlkIoClass& last) {
  const auto group = strategy.object(name);
  if (group.refused) return last;
  if (!group.value) return {};
  const auto section = group.value->object("blkioQOS");
  if (section.refused) return last;
  if (!section.value) return {};
  BlkIoClass out;
  out.enable = section.value->boolean("enable").or_last(last.enable);
  out.blocks = decode_io_blocks(*section.value, last.blocks);
  return out;
}

/// Blocks of a class that has none are said to be without effect.
void refuse_others(const Fields& strategy) {
  for (const auto* name : {"lsrClass", "lsClass", "systemClass"}) {
    const auto* group = strategy.find(name);
    if (group == nullptr || !group->is_object()) continue;
    const auto* section = group->get_object().if_contains("blkioQOS");
    if (section == nullptr || !section->is_object()) continue;
    const auto* blocks = section->get_object().if_contains("blocks");
    if (blocks == nullptr || !blocks->is_array() || blocks->get_array().empty()) continue;
    strategy.refuse(fmt::format("{}.blkioQOS.blocks", name),
                    "without effect: expected below beClass, cgroupRoot or in a pod annotation");
  }
}

}  // namespace

std::vector<IoBlock> decode_io_blocks(const Fields& fields, const std::vector<IoBlock>& last) {
  const auto* present = fields.find("blocks");
  const auto* list = fields.array("blocks");
  if (list == nullptr) return present != nullptr ? last : std::vector<IoBlock>{};
  std::vector<IoBlock> out;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto at = fmt::format("blocks[{}]", i);
    const json::value& item = (*list)[i];
    if (i >= kMostBlocks) {
      fields.refuse("blocks",
                    fmt::format("{} of them: expected at most {}", list->size(), kMostBlocks));
      break;
    }
    if (!item.is_object()) {
      fields.refuse(at, item, "an object");
      continue;
    }
    const Fields block{item.get_object(), fields.path(at), fields.refusals()};
    if (auto good = decode_block(block)) {
      out.push_back(std::move(*good));
      continue;
    }
    const auto* name = item.get_object().if_contains("name");
    const auto before = std::find_if(last.begin(), last.end(), [name](const IoBlock& b) {
      return name != nullptr && name->is_string() && b.name == std::string_view{name->get_string()};
    });
    if (before != last.end()) out.push_back(*before);
  }
  return out;
}

BlkIoStrategy decode_blkio(const Fields& strategy, const BlkIoStrategy& last) {
  refuse_others(strategy);
  return {decode_class(strategy, "beClass", last.be),
          decode_class(strategy, "cgroupRoot", last.root)};
}

}  // namespace koordlet::k8s
