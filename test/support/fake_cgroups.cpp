#include "support/fake_cgroups.hpp"

#include <fmt/format.h>

namespace koordlet::test {

CgroupPath FakeCgroups::make(std::string_view path) { return make(path_of(path)); }

void FakeCgroups::set_unit(const CgroupKey& key, const CgroupValue& value) {
  units_.insert_or_assign(key, value);
}

void FakeCgroups::daemon_reload() {
  for (const auto& [key, value] : units_) {
    if (has(key)) set(key, value);
  }
}

void FakeCgroups::fail_next(const CgroupKey& key, Errc code, int times) {
  faults_.insert_or_assign(key, Fault{code, times});
}

void FakeCgroups::remove_during_write(const CgroupKey& key) { doomed_.insert(key); }

void FakeCgroups::on_write(std::function<void(const CgroupKey&, const CgroupValue&)> hook) {
  hook_ = std::move(hook);
}

std::vector<std::string> FakeCgroups::log_text() const {
  std::vector<std::string> out;
  for (const auto& w : log_) {
    out.push_back(fmt::format("{} = {}", to_string(w.key), to_string(w.value)));
  }
  return out;
}

std::string FakeCgroups::text(const CgroupKey& key) {
  const auto value = read(key);
  return value ? to_string(*value) : "-";
}

Result<CgroupValue> FakeCgroups::read(const CgroupKey& key) {
  ++reads_;
  return CgroupTree::read(key);
}

Result<void> FakeCgroups::write(const CgroupKey& key, const CgroupValue& value) {
  ++attempts_;
  if (hook_) hook_(key, value);
  if (doomed_.erase(key) > 0) {
    remove(key.path);
    return refuse(Errc::kGone, key, value, "No such device");
  }
  const auto fault = faults_.find(key);
  if (has(key) && fault != faults_.end() && fault->second.times > 0) {
    --fault->second.times;
    return refuse(fault->second.code, key, value, "injected");
  }
  auto written = CgroupTree::write(key, value);
  if (written) log_.push_back({key, value});
  return written;
}

std::string FakeCgroups::file(const CgroupKey& key) const {
  return fmt::format("/fake/{}/{}", key.path.str(), koordlet::to_string(key.file));
}

CgroupPath path_of(std::string_view text) { return CgroupPath::parse(text).value(); }
CgroupKey key_of(std::string_view path, CgroupFile file) { return {path_of(path), file}; }
CgroupValue cpu_max(std::int64_t quota_us, std::int64_t period_us) {
  using std::chrono::microseconds;
  return CpuMax{Limit{microseconds{quota_us}}, microseconds{period_us}};
}
CgroupValue cpu_unlimited(std::int64_t period_us) {
  CpuMax out;
  out.period = std::chrono::microseconds{period_us};
  return out;
}
CgroupValue cpus(std::string_view list) { return CpuSet::parse(list).value(); }
CgroupValue bytes(std::int64_t n) { return MemoryBound{Bytes{n}}; }
CgroupValue bytes_unlimited() { return MemoryBound::unlimited(); }
CgroupValue number(std::int64_t n) { return Number{n}; }

}  // namespace koordlet::test
