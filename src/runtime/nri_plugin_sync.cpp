// Synchronize: what the runtime has, read and answered in steps.
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "runtime/nri_check.hpp"
#include "runtime/nri_plugin.hpp"

namespace koordlet::runtime {
namespace {

/// A runtime drops a peer with 256 frames of 4 KiB that it has not read; a quarter of that.
constexpr std::size_t kMostReply = 256 * 1024;
constexpr std::size_t kMostInventory = 64u << 20;  // bytes of all parts of a Synchronize
constexpr std::size_t kEntriesAStep = 50;          // about half a millisecond
constexpr std::size_t kShown = 200;

template <class T>
void append(std::vector<T>& to, std::vector<T> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

Result<void> NriPlugin::begin_sync(std::string_view in) {
  protocol_fault_ = false;
  if (sync_) {
    protocol_fault_ = true;
    return Error{Errc::kBusy, "the part before is not answered yet"};
  }
  auto entries = counted(decode_sync_entries(in));
  if (!entries) {
    parts_.reset();
    return entries.error();
  }
  if (!parts_) parts_ = Parts{};
  parts_->bytes += in.size();
  if (parts_->bytes > kMostInventory) {
    const auto got = parts_->bytes;
    parts_.reset();
    protocol_fault_ = true;
    return Error{
        Errc::kRange,
        fmt::format("expected at most {} bytes in all parts, got {}", kMostInventory, got)};
  }
  sync_ = Sync{};
  sync_->entries = std::move(*entries);
  sync_->began = clock_.now();
  return {};
}

std::optional<NriPlugin::Payload> NriPlugin::sync_step() {
  return sync_->reading ? read_some() : hear_some();
}

std::optional<NriPlugin::Payload> NriPlugin::read_some() {
  NriSyncPart part;
  const bool more = take_entries(sync_->entries, kEntriesAStep, part);
  counters_.damaged += part.damaged;
  append(parts_->inventory.pods, std::move(part.inventory.pods));
  append(parts_->inventory.containers, std::move(part.inventory.containers));
  if (more) return std::nullopt;
  if (sync_->entries.more) return encode_synchronize({}, 0, true);
  auto inventory = std::move(parts_->inventory);
  parts_.reset();
  sync_->reading = false;
  events_.begin_synchronize(std::move(inventory));
  return std::nullopt;
}

std::optional<NriPlugin::Payload> NriPlugin::hear_some() {
  Result<bool> more = false;
  try {
    more = events_.synchronize_some(sync_->updates);
  } catch (const std::exception& e) {
    more = Error{Errc::kIo, e.what()};
  } catch (...) {
    more = Error{Errc::kIo, "unknown failure"};
  }
  if (more && *more) return std::nullopt;
  if (more)
    if (const auto ok = check_updates(sync_->updates); !ok) more = ok.error();
  if (!more) {
    if (options_.policy == HookFailurePolicy::kFail) return more.error();
    // Without corrections, but connected: the next events are answered.
    ++counters_.failures;
    counters_.last_failure = "Synchronize: " + printable(more.error().context, kShown);
    sync_->updates.clear();
  }
  return end_sync();
}

std::string NriPlugin::end_sync() {
  synchronized_ = true;
  const auto& updates = sync_->updates;
  const auto fitting = updates_within(updates, kMostReply);
  for (auto i = fitting; i < updates.size(); ++i)
    if (!updates_.put(updates[i])) ++counters_.failures;
  return encode_synchronize(updates, fitting, false);
}

}  // namespace koordlet::runtime
