#include "runtime/nri_resources.hpp"

#include <limits>
#include <nri.pb.h>

#include "runtime/hook_decode.hpp"

namespace koordlet::runtime {
namespace {

using std::chrono::microseconds;
constexpr std::int64_t kUnlimited = -1;  // as NRI spells it

void fill_cpu(nri::LinuxCpu& out, const HookResources& in) {
  if (in.cpu_shares) out.mutable_shares()->set_value(*in.cpu_shares);
  if (in.cpu_quota) {
    const auto& bound = in.cpu_quota->bound();
    out.mutable_quota()->set_value(bound ? bound->count() : kUnlimited);
  }
  if (in.cpu_period)
    out.mutable_period()->set_value(static_cast<std::uint64_t>(in.cpu_period->count()));
  if (in.cpus) out.set_cpus(in.cpus->to_string());
  if (in.mems) out.set_mems(in.mems->to_string());
}

std::int64_t bytes_of(const Limit<Bytes>& limit) {
  return limit.bound() ? limit.bound()->v : kUnlimited;
}

}  // namespace

void fill(nri::LinuxResources& out, const HookResources& in) {
  if (in.cpu_shares || in.cpu_quota || in.cpu_period || in.cpus || in.mems)
    fill_cpu(*out.mutable_cpu(), in);
  if (in.memory_limit) out.mutable_memory()->mutable_limit()->set_value(bytes_of(*in.memory_limit));
  if (in.memory_swap_limit)
    out.mutable_memory()->mutable_swap()->set_value(bytes_of(*in.memory_swap_limit));
  if (in.rdt_class) out.mutable_rdt_class()->set_value(*in.rdt_class);
  for (const auto& [file, content] : in.unified) (*out.mutable_unified())[file] = content;
}

Result<HookResources> resources_of(const nri::LinuxResources& in) {
  HookResources out;
  const auto& cpu = in.cpu();
  if (cpu.shares().value() > 0) out.cpu_shares = cpu.shares().value();
  out.cpu_quota = limit_of<microseconds>(cpu.quota().value());
  const auto period = cpu.period().value();
  if (period > 0 && period <= std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    out.cpu_period = microseconds{static_cast<std::int64_t>(period)};
  if (const auto ok = read_set(out.cpus, cpu.cpus(), "cpus"); !ok) return ok.error();
  if (const auto ok = read_set(out.mems, cpu.mems(), "mems"); !ok) return ok.error();
  const auto& memory = in.memory();
  out.memory_limit = limit_of<Bytes>(memory.limit().value());
  out.memory_swap_limit = limit_of<Bytes>(memory.swap().value());
  if (!in.rdt_class().value().empty()) out.rdt_class = in.rdt_class().value();
  out.unified = {in.unified().begin(), in.unified().end()};
  return out;
}

}  // namespace koordlet::runtime
