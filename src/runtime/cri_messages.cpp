#include "runtime/cri_messages.hpp"

#include <limits>

#include "cri.pb.h"

namespace koordlet::runtime {
namespace {

constexpr const char* kPodUidLabel = "io.kubernetes.pod.uid";
constexpr const char* kContainerNameLabel = "io.kubernetes.container.name";
constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

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

template <class Message>
Result<Message> parse(std::string_view bytes, const char* name) {
  Message out;
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !out.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Error{Errc::kParse, std::string{"expected a message "} + name};
  }
  return out;
}

}  // namespace

Result<std::vector<ContainerStats>> parse_container_stats(std::string_view bytes) {
  const auto message = parse<cri::ListContainerStatsResponse>(bytes, "ListContainerStatsResponse");
  if (!message) return message.error();
  std::vector<ContainerStats> out;
  for (const auto& s : message->stats()) {
    if (s.attributes().id().empty()) continue;
    ContainerStats stats;
    stats.id = s.attributes().id();
    stats.name = label(s.attributes(), kContainerNameLabel);
    stats.pod_uid = label(s.attributes(), kPodUidLabel);
    if (s.has_cpu()) fill(stats, s.cpu());
    if (s.has_memory()) fill(stats, s.memory());
    out.push_back(std::move(stats));
  }
  return out;
}

Result<std::vector<ContainerStats>> parse_pod_sandbox_stats(std::string_view bytes) {
  const auto message =
      parse<cri::ListPodSandboxStatsResponse>(bytes, "ListPodSandboxStatsResponse");
  if (!message) return message.error();
  std::vector<ContainerStats> out;
  for (const auto& s : message->stats()) {
    if (s.attributes().id().empty()) continue;
    ContainerStats stats;
    stats.id = s.attributes().id();
    stats.pod_uid = s.attributes().metadata().uid();
    if (s.linux().has_cpu()) fill(stats, s.linux().cpu());
    if (s.linux().has_memory()) fill(stats, s.linux().memory());
    out.push_back(std::move(stats));
  }
  return out;
}

}  // namespace koordlet::runtime
