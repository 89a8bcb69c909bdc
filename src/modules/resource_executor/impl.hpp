#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "modules/resource_executor/journal_writer.hpp"
#include "modules/resource_executor/key_state.hpp"
#include "modules/resource_executor/plan.hpp"
#include "modules/resource_executor/resource_executor.hpp"
#include "modules/resource_executor/slow_writes.hpp"

namespace koordlet {

/// One apply(), from the first read to the last outcome. `changes`, `items` run in parallel.
struct ExecutorBatch {
  struct Item {
    executor::KeyState* state = nullptr;
    std::size_t outcome = 0;
    bool release = false;  ///< the original goes back
    bool ended = false;    ///< refused, gone or held back: no further step
  };
  const DesiredTable* desired = nullptr;
  MonoTime now;
  std::uint64_t number = 0;
  std::vector<Outcome> outcomes;
  std::vector<executor::ChangeRef> changes;  ///< into the states and the desired table
  std::vector<Item> items;
  std::vector<CgroupKey> drop;    ///< states that end with the batch
  std::vector<CgroupKey> failed;  ///< what could not be written: its ancestors do not shrink
  std::size_t steady_files = 0;   ///< seen so far
  std::string journal_error;      ///< why the intents are not committed; empty when they are
};

struct ResourceExecutor::Impl {
  using KeyState = executor::KeyState;
  using Batch = ExecutorBatch;
  using Held = ResourceExecutor::Held;

  Impl(Config c,
       kernel::Cgroups& cg,
       store::Journal* j,
       reactor::Worker* storage,
       const Clock& cl,
       std::string boot)
      : config{c}, cgroups{cg}, journal{j, storage}, clock{cl}, boot_id{std::move(boot)} {}

  // apply.cpp
  boost::asio::awaitable<std::vector<Outcome>> apply(const DesiredTable& desired, MonoTime now);
  boost::asio::awaitable<bool> examine_all(const DesiredTable& desired, Batch& batch);
  boost::asio::awaitable<bool> write_all(const std::vector<executor::Step>& steps, Batch& batch);
  void write_step(const executor::Step& step, Batch& batch);
  void write_failed(const executor::Step& step, const Error& error, Batch& batch);
  void block(KeyState& state,
             const CgroupKey& key,
             CgroupValue value,
             const Error& error,
             executor::Failure why,
             MonoTime now);
  bool held_back(const executor::Step& step, Batch& batch);
  void finish(Batch& batch);

  // examine.cpp
  void examine(const CgroupKey& key, const Desired& want, Batch& batch);
  bool is_not_its_turn(const CgroupKey& key,
                       const KeyState& state,
                       const Desired& want,
                       const Batch& batch) const;
  void examine_weight_of_idle(const CgroupKey& idle, const Desired& want, Batch& batch);
  void read_failed(const CgroupKey& key, const Error& error, Outcome& outcome, Batch& batch);
  void adopt_wish(KeyState& state, const CgroupKey& key, const Desired& want, Batch& batch);
  bool weight_is_idle(const CgroupKey& key, const CgroupValue& current) const;
  static bool idle_stays(const CgroupPath& path, const Batch& batch);
  bool settled(KeyState& state,
               const CgroupKey& key,
               const CgroupValue& current,
               Outcome& outcome,
               Batch& batch);
  bool blocked(KeyState& state,
               const CgroupKey& key,
               const CgroupValue& value,
               Outcome& outcome,
               MonoTime now);
  void release(const CgroupKey& key, KeyState& state, Batch& batch);

  // owner.cpp
  void note_resized(const std::vector<CgroupPath>& pods, MonoTime now);
  bool owner_wrote(KeyState& state, const CgroupValue& value, MonoTime now);
  void new_original(KeyState& state, const CgroupValue& value);

  // slow.cpp
  bool hand_over(const CgroupKey& key,
                 KeyState& state,
                 const CgroupValue& value,
                 Outcome& outcome,
                 MonoTime now);
  void pick_up(Batch& batch);
  bool under_way(const CgroupKey& key,
                 KeyState& state,
                 const CgroupValue& current,
                 Outcome& outcome,
                 MonoTime now);
  void call_back();

  // intents.cpp
  boost::asio::awaitable<void> commit_intents(const std::vector<executor::Step>& steps,
                                              bool second_pass,
                                              Batch& batch);
  boost::asio::awaitable<void> commit_erased();

  // adopt.cpp, restore.cpp
  boost::asio::awaitable<Result<std::vector<Held>>> adopt();
  bool adopt_entry(const store::JournalEntry& entry, bool weight_under_idle);
  std::vector<Outcome> restore_all();
  static Held to_held(const CgroupKey& key, const KeyState& state);

  Config config;
  kernel::Cgroups& cgroups;
  executor::JournalWriter journal;
  const Clock& clock;
  std::string boot_id;

  std::map<CgroupKey, KeyState> states;
  std::optional<executor::SlowWrites> slow;
  UnitOwner* units = nullptr;  ///< told of every write that has ended; nullptr: nobody to tell
  Counters counters;
  std::vector<CgroupKey> erased;  ///< journal rows to erase with the next commit
  bool rows_behind = false;  ///< some written file has no good row: caught up with the next commit
  std::uint64_t batch_number = 0;
  std::size_t steady_files = 0;  ///< of the last batch
  std::uint64_t restores =
      0;  ///< a suspended apply() sees that everything was given back meanwhile
  bool busy = false;
};

}  // namespace koordlet
