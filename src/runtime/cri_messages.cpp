#include "runtime/cri_messages.hpp"

#include <cri.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <limits>

namespace koordlet::runtime {
namespace {

namespace io = google::protobuf::io;

constexpr const char* kPodUidLabel = "io.kubernetes.pod.uid";
constexpr const char* kContainerNameLabel = "io.kubernetes.container.name";
constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
constexpr std::uint32_t kStatsField = 1;  // of both lists

std::optional<Bytes> bytes_of(bool there, const cri::UInt64Value& value) {
  if (!there || value.value() > kMost) return std::nullopt;
  return Bytes{static_cast<std::int64_t>(value.value())};
}

void fill(ContainerStats& out, const cri::CpuUsage& cpu) {
  out.at = WallTime{
      std::chrono::duration_cast<WallTime::duration>(std::chrono::nanoseconds{cpu.timestamp()})};
  if (!cpu.has_usage_core_nano_seconds()) return;
  const auto ns = cpu.usage_core_nano_seconds().value();
  if (ns <= kMost) out.cpu_usage = std::chrono::nanoseconds{static_cast<std::int64_t>(ns)};
}

void fill(ContainerStats& out, const cri::MemoryUsage& memory) {
  out.memory_working_set = bytes_of(memory.has_working_set_bytes(), memory.working_set_bytes());
  out.memory_usage = bytes_of(memory.has_usage_bytes(), memory.usage_bytes());
  out.memory_rss = bytes_of(memory.has_rss_bytes(), memory.rss_bytes());
}

std::string label(const cri::ContainerAttributes& attributes, const char* name) {
  const auto at = attributes.labels().find(name);
  return at == attributes.labels().end() ? std::string{} : at->second;
}

ContainerStats stats_of(const cri::ContainerStats& s) {
  ContainerStats out;
  out.id = s.attributes().id();
  out.name = label(s.attributes(), kContainerNameLabel);
  out.pod_uid = label(s.attributes(), kPodUidLabel);
  if (s.has_cpu()) fill(out, s.cpu());
  if (s.has_memory()) fill(out, s.memory());
  return out;
}

ContainerStats stats_of(const cri::PodSandboxStats& s) {
  ContainerStats out;
  out.id = s.attributes().id();
  out.pod_uid = s.attributes().metadata().uid();
  if (s.linux().has_cpu()) fill(out, s.linux().cpu());
  if (s.linux().has_memory()) fill(out, s.linux().memory());
  return out;
}

template <class Message>
bool take_entry(std::string_view bytes, std::vector<ContainerStats>& out) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  auto stats = stats_of(message);
  if (!stats.id.empty()) out.push_back(std::move(stats));
  return true;
}

/// The next field of a message; its bytes when it is one of `wanted`. false: no field.
bool next_field(io::CodedInputStream& in,
                std::uint32_t wanted,
                std::string_view& entry,
                bool& is_wanted) {
  is_wanted = false;
  const auto tag = in.ReadTag();
  std::uint64_t number = 0;
  std::uint32_t size = 0;
  switch (tag & 7) {
    case 0:
      return tag >> 3 != 0 && in.ReadVarint64(&number);
    case 1:
      return tag >> 3 != 0 && in.Skip(8);
    case 5:
      return tag >> 3 != 0 && in.Skip(4);
    case 2:
      break;
    default:
      return false;
  }
  const void* data = nullptr;
  int left = 0;
  if (tag >> 3 == 0 || !in.ReadVarint32(&size)) return false;
  in.GetDirectBufferPointerInline(&data, &left);
  if (size > static_cast<std::uint32_t>(left)) return false;
  is_wanted = tag >> 3 == wanted;
  entry = std::string_view{static_cast<const char*>(data), size};
  return in.Skip(static_cast<int>(size));
}

}  // namespace

Result<bool> StatsList::take(std::size_t most, std::vector<ContainerStats>& out) {
  const bool containers = kind_ == Kind::kContainers;
  const Error damaged{
      Errc::kParse,
      std::string{"expected a message "} +
          (containers ? "ListContainerStatsResponse" : "ListPodSandboxStatsResponse")};
  const auto left = bytes_.size() - at_;
  if (left > std::numeric_limits<int>::max()) return damaged;
  io::CodedInputStream in{reinterpret_cast<const std::uint8_t*>(bytes_.data()) + at_,
                          static_cast<int>(left)};
  std::string_view entry;
  bool is_wanted = false;
  for (std::size_t n = 0; n < most; ++n) {
    if (static_cast<std::size_t>(in.CurrentPosition()) == left) break;
    if (!next_field(in, kStatsField, entry, is_wanted)) return damaged;
    if (!is_wanted) continue;
    const bool ok = containers ? take_entry<cri::ContainerStats>(entry, out)
                               : take_entry<cri::PodSandboxStats>(entry, out);
    if (!ok) return damaged;
  }
  at_ += static_cast<std::size_t>(in.CurrentPosition());
  return at_ < bytes_.size();
}

Result<std::vector<ContainerStats>> parse_stats(StatsList::Kind kind, std::string bytes) {
  StatsList list{kind, std::move(bytes)};
  std::vector<ContainerStats> out;
  for (;;) {
    const auto more = list.take(std::numeric_limits<std::size_t>::max(), out);
    if (!more) return more.error();
    if (!*more) return out;
  }
}

}  // namespace koordlet::runtime
