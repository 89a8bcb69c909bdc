#include "runtime/unit_sync.hpp"

#include <algorithm>
#include <utility>

namespace koordlet::runtime {
namespace {

std::optional<std::string> owner_of(const CgroupKey& key) {
  if (!has_unit_property(key.file)) return std::nullopt;
  return unit_of(key.path);
}

}  // namespace

void UnitSync::change(Unit& unit,
                      const std::string& name,
                      CgroupFile file,
                      const CgroupValue& value) {
  unit.files.insert_or_assign(file, value);
  const auto refused = unit.refused.find(file);
  if (refused != unit.refused.end() && refused->second == value) return;
  if (refused != unit.refused.end()) unit.refused.erase(refused);
  unit.changed.insert(file);
  ready_.insert(name);
}

void UnitSync::hold(const CgroupKey& key, const CgroupValue& value) {
  const auto name = owner_of(key);
  if (!name) return;
  auto& unit = units_[*name];
  unit.leaving.erase(key.file);
  change(unit, *name, key.file, value);
}

void UnitSync::give_back(const CgroupKey& key, const CgroupValue& value) {
  const auto name = owner_of(key);
  if (!name) return;
  auto& unit = units_[*name];
  const bool asked = unit.accepted.contains(key.file) || unit.sent.contains(key.file);
  const bool never_taken = unit.refused.contains(key.file) && !unit.accepted.contains(key.file);
  if (never_taken || (!asked && !bus_.up())) {  // systemd knows nothing of it
    drop(unit, key.file);
    drop_if_empty(*name);
    return;
  }
  unit.leaving.insert(key.file);
  change(unit, *name, key.file, value);
}

void UnitSync::forget(const CgroupKey& key) {
  const auto name = owner_of(key);
  if (!name) return;
  const auto found = units_.find(*name);
  if (found == units_.end()) return;
  drop(found->second, key.file);
  drop_if_empty(*name);
}

void UnitSync::drop(Unit& unit, CgroupFile file) {
  unit.files.erase(file);
  unit.changed.erase(file);
  unit.leaving.erase(file);
  unit.accepted.erase(file);
  unit.refused.erase(file);
}

void UnitSync::drop_if_empty(const std::string& name) {
  const auto found = units_.find(name);
  if (found == units_.end() || !found->second.files.empty()) return;
  if (found->second.ticket != 0) return;  // its answer does it
  units_.erase(found);
  ready_.erase(name);
  later_.erase(name);
}

void UnitSync::send() {
  ready_.merge(later_);
  later_.clear();
  pump();
}

void UnitSync::pump() {
  for (auto next = ready_.begin(); next != ready_.end() && calls_ < kMaxCalls && bus_.up();) {
    const auto found = units_.find(*next);
    if (found != units_.end() && found->second.ticket != 0) {  // one call a unit at a time
      ++next;
      continue;
    }
    const auto name = *next;
    next = ready_.erase(next);
    if (found != units_.end()) call(name, found->second);
  }
}

void UnitSync::call(const std::string& name, Unit& unit) {
  if (unit.changed.empty()) return;
  if (unit.one_by_one) {
    unit.sent = {*unit.changed.begin()};
    unit.changed.erase(unit.changed.begin());
  } else {
    unit.sent = std::exchange(unit.changed, {});
  }
  const auto properties = unit_properties(unit.files, unit.sent);
  if (properties.empty()) {  // nothing that a property can say
    for (const auto file : std::exchange(unit.sent, {})) {
      if (unit.leaving.contains(file)) drop(unit, file);
    }
    if (!unit.changed.empty()) ready_.insert(name);
    drop_if_empty(name);
    return;
  }
  if (!unit.changed.empty()) ready_.insert(name);
  const auto ticket = unit.ticket = ++tickets_;
  ++calls_;
  bus_.set(name,
           properties,
           [this, name, ticket, alive = std::weak_ptr{alive_}](const Result<void>& result) {
             if (!alive.expired()) answered(name, ticket, result);
           });
}

void UnitSync::answered(const std::string& name, std::uint64_t ticket, const Result<void>& result) {
  --calls_;
  const auto found = units_.find(name);
  if (found != units_.end() && found->second.ticket == ticket) {
    auto& unit = found->second;
    unit.ticket = 0;
    if (result) {
      taken(name, unit);
    } else if (result.error().code == Errc::kNotFound) {
      ++gone_;
      units_.erase(found);
      ready_.erase(name);
    } else if (result.error().code == Errc::kInvalid || result.error().code == Errc::kDenied) {
      refused(name, unit, result.error());
    } else {
      ++failures_;
      last_error_ = result.error().context;
      for (const auto file : std::exchange(unit.sent, {})) {
        if (unit.files.contains(file)) unit.changed.insert(file);
      }
      ready_.erase(name);
      if (!unit.changed.empty()) later_.insert(name);
    }
    drop_if_empty(name);
  }
  pump();
}

void UnitSync::taken(const std::string& name, Unit& unit) {
  ++sets_;
  std::vector<std::string_view> settings;
  for (const auto file : std::exchange(unit.sent, {})) {
    if (!unit.files.contains(file)) continue;  // forgotten meanwhile
    unit.accepted.insert(file);
    if (!unit.leaving.contains(file) || unit.changed.contains(file)) continue;
    for (const auto setting : unit_settings(file)) settings.push_back(setting);
    drop(unit, file);
  }
  // Another file of the unit may still speak through the same setting (idle and weight).
  for (const auto& [file, value] : unit.files) {
    for (const auto setting : unit_settings(file)) std::erase(settings, setting);
  }
  if (unit.changed.empty()) unit.one_by_one = false;
  if (!settings.empty()) bus_.tidy(name, settings);
}

void UnitSync::refused(const std::string& name, Unit& unit, const Error& error) {
  const auto files = std::exchange(unit.sent, {});
  if (files.size() > 1 && error.code == Errc::kInvalid) {
    for (const auto file : files) {
      if (unit.files.contains(file)) unit.changed.insert(file);
    }
    unit.one_by_one = true;
    ready_.insert(name);
    return;
  }
  ++failures_;
  last_error_ = error.context;
  for (const auto file : files) {
    const auto value = unit.files.find(file);
    if (value == unit.files.end() || unit.changed.contains(file)) continue;  // newer by now
    if (unit.leaving.contains(file)) {
      drop(unit, file);
    } else {
      unit.refused.insert_or_assign(file, value->second);
    }
  }
  if (unit.changed.empty()) unit.one_by_one = false;
}

bool UnitSync::settling(const CgroupKey& key) const {
  const auto name = owner_of(key);
  if (!name) return false;
  // systemd writes the sibling files of a property as well: the whole controller.
  const auto found = units_.find(*name);
  return found != units_.end() && found->second.ticket != 0;
}

UnitSync::Counters UnitSync::counters() const {
  Counters out{sets_, failures_, gone_, 0, units_.size(), last_error_};
  out.pending =
      static_cast<std::size_t>(std::count_if(units_.begin(), units_.end(), [](const auto& entry) {
        return entry.second.ticket != 0 || !entry.second.changed.empty();
      }));
  return out;
}

}  // namespace koordlet::runtime
