#include <string>
#include <vector>

#include "fuzz.hpp"
#include "runtime/cri_hook_messages.hpp"

namespace {

using namespace koordlet;
using namespace koordlet::fuzz;
using namespace koordlet::runtime;
using std::chrono::microseconds;

std::string word(Choices& from) {
  std::string out;
  for (const char c : from.piece()) out += static_cast<char>('a' + (c & 15));
  return out;
}

template <class T>
Limit<T> limit(Choices& from) {
  const auto n = static_cast<std::int64_t>(from.number() >> 1);
  return from.flag() || n == 0 ? Limit<T>::unlimited() : Limit<T>{T{n}};
}

/// What a hook may say: model/hook.hpp has the bounds.
HookResources resources(Choices& from) {
  HookResources out;
  if (from.flag()) out.cpu_shares = 2 + from.number(3) % 262'143;
  if (from.flag()) out.cpu_quota = limit<microseconds>(from);
  if (from.flag()) out.cpu_period = microseconds{1 + from.number(4)};
  if (from.flag()) out.cpus = CpuSet::range(0, static_cast<int>(from.index(4096)));
  if (from.flag()) out.mems = CpuSet::range(0, static_cast<int>(from.index(4096)));
  if (from.flag()) out.memory_limit = limit<Bytes>(from);
  if (from.flag()) out.memory_swap_limit = limit<Bytes>(from);
  for (int i = from.byte() % 3; i > 0; --i) {
    auto file = word(from);
    out.unified[std::move(file)] = word(from);
  }
  return out;
}

HookAdjustment adjustment(Choices& from) {
  HookAdjustment out;
  out.resources = resources(from);
  if (from.flag()) out.oom_score_adj = static_cast<int>(from.index(2001)) - 1000;
  for (int i = from.byte() % 3; i > 0; --i) {
    auto key = word(from);
    out.annotations[std::move(key)] = word(from);
  }
  for (int i = from.byte() % 3; i > 0; --i) {
    auto name = word(from);
    out.env.push_back({std::move(name), word(from)});
  }
  return out;
}

/// What the caller's request says after the answer: `answer` where it says something, else as
/// before.
void check_merge(const HookResources& before,
                 const HookResources& answer,
                 const HookResources& after) {
  auto expected = before;
  const auto lay = [](auto& to, const auto& from) {
    if (from) to = from;
  };
  lay(expected.cpu_shares, answer.cpu_shares);
  lay(expected.cpu_quota, answer.cpu_quota);
  lay(expected.cpu_period, answer.cpu_period);
  lay(expected.cpus, answer.cpus);
  lay(expected.mems, answer.mems);
  lay(expected.memory_limit, answer.memory_limit);
  lay(expected.memory_swap_limit, answer.memory_swap_limit);
  for (const auto& [file, content] : answer.unified) expected.unified[file] = content;
  require(after == expected, "the answer is laid over the request's resources");
}

void check_create(std::string_view message, const HookAdjustment& answer) {
  const auto before = parse_create_container(message);
  if (!before) return;
  const auto out = adjusted_create_container(std::string{message}, answer);
  require(out.has_value(), "what the CRI can say is said");
  require(out->starts_with(message), "the caller's bytes stay");
  const auto after = parse_create_container(*out);
  require(after.has_value(), "the adjusted request can be read");
  require(after->pod == before->pod, "the pod stays");
  const auto &was = before->container, &is = after->container;
  check_merge(was.resources, answer.resources, is.resources);
  auto annotations = was.annotations;
  for (const auto& [key, value] : answer.annotations) annotations[key] = value;
  require(is.annotations == annotations, "annotations of the answer win, others stay");
  auto env = was.env;
  env.insert(env.end(), answer.env.begin(), answer.env.end());
  require(is.env == env, "variables of the answer come behind the caller's");
  if (answer.oom_score_adj && *answer.oom_score_adj != 0)
    require(is.oom_score_adj == answer.oom_score_adj, "the answered oom_score_adj holds");
  if (answer == HookAdjustment{}) require(*out == message, "nothing said, no byte added");
}

void check_update(std::string_view message, const HookResources& answer) {
  const auto before = parse_update_container(message);
  if (!before) return;
  require(!before->container_id.empty(), "an update names its container");
  const auto out = adjusted_update_container(std::string{message}, answer);
  require(out.has_value() && out->starts_with(message), "the caller's bytes stay");
  const auto after = parse_update_container(*out);
  require(after.has_value(), "the adjusted request can be read");
  require(after->container_id == before->container_id, "the container stays");
  require(after->oom_score_adj == before->oom_score_adj, "oom_score_adj stays");
  check_merge(before->resources, answer, after->resources);
}

}  // namespace

/// The first 64 bytes make the answer, the rest is the request.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = text_of(data, size);
  const auto message = input.size() > 64 ? input.substr(64) : std::string_view{};
  Choices from{input.substr(0, 64)};
  const auto answer = adjustment(from);
  check_create(message, answer);
  check_update(message, answer.resources);
  static_cast<void>(parse_run_pod_sandbox(message));
  if (const auto id = parse_id(message)) require(!id->empty(), "an id is never empty");
  return 0;
}
