#include <functional>
#include <random>

#include <doctest/doctest.h>

#include "unit/policy/interference_rig.hpp"

using namespace koordlet;
using namespace koordlet::policy;

namespace {

/// Windows of any kind: each signal may be missing, small, in its ramp or far above it.
class AnyWindow {
 public:
  explicit AnyWindow(unsigned seed) : random_{seed} {}
  InterferenceWindow operator()() {
    auto w = empty_window();
    if (chance(0.8)) w.run = milliseconds(20'000);
    if (chance(0.8)) w.wait = milliseconds(4'000);
    if (chance(0.9)) w.dispatches = static_cast<std::uint64_t>(up_to(200));
    if (chance(0.7)) w.wait_p95 = milliseconds(10);
    if (chance(0.5)) w.behind_best_effort = milliseconds(4'000);
    w.cpu = share();
    w.memory = share();
    w.io = share();
    if (chance(0.8)) w.throttled = Permille{static_cast<std::int64_t>(up_to(1200))};
    for (int i = 0; i < 3; ++i) {
      if (chance(0.5)) w.micro.push_back(sample());
    }
    if (chance(0.8)) w.be_used = MilliCpu{static_cast<std::int64_t>(up_to(5000))};
    if (chance(0.9)) w.node_capacity = MilliCpu{64'000};
    return w;
  }
  double up_to(double most) { return std::uniform_real_distribution<double>{0, most}(random_); }
  bool chance(double p) { return up_to(1) < p; }
  std::mt19937& random() { return random_; }

 private:
  std::chrono::nanoseconds milliseconds(double most) {
    return std::chrono::microseconds{static_cast<std::int64_t>(up_to(most) * 1000)};
  }
  std::optional<StallShare> share() {
    if (chance(0.2)) return std::nullopt;
    StallShare out{up_to(60), std::nullopt};
    if (chance(0.8)) out.full_percent = up_to(60);
    return out;
  }
  MicroSample sample() {
    MicroSample out{chance(0.8) ? "app" : "unknown",
                    MilliCpu{static_cast<std::int64_t>(up_to(1000))},
                    1.5 + up_to(1),
                    std::nullopt};
    if (chance(0.8)) out.llc_miss_ratio = 0.2 + up_to(0.4);
    return out;
  }
  std::mt19937 random_;
};

struct Push {
  const char* signal;
  std::function<void(InterferenceWindow&)> more;
};

/// More of one signal each, where the window has it.
const std::vector<Push>& pushes() {
  static const std::vector<Push> all{
      {"wait", [](auto& w) { *w.wait += 100ms; }},
      {"p95", [](auto& w) { *w.wait_p95 += 500us; }},
      {"cpu some", [](auto& w) { w.cpu->some_percent += 3; }},
      {"cpu full", [](auto& w) { *w.cpu->full_percent += 3; }},
      {"memory some", [](auto& w) { w.memory->some_percent += 3; }},
      {"memory full", [](auto& w) { *w.memory->full_percent += 3; }},
      {"io some", [](auto& w) { w.io->some_percent += 3; }},
      {"io full", [](auto& w) { *w.io->full_percent += 3; }},
      {"cpi", [](auto& w) { w.micro[0].cpi += 0.05; }},
      {"llc", [](auto& w) { *w.micro[0].llc_miss_ratio += 0.02; }},
      {"less throttling", [](auto& w) { w.throttled->v = w.throttled->v * 9 / 10; }},
  };
  return all;
}

bool has(const InterferenceWindow& w, std::string_view signal) {
  if (signal == "wait") return w.wait.has_value();
  if (signal == "p95") return w.wait_p95.has_value();
  if (signal == "cpu some") return w.cpu.has_value();
  if (signal == "cpu full") return w.cpu && w.cpu->full_percent;
  if (signal == "memory some") return w.memory.has_value();
  if (signal == "memory full") return w.memory && w.memory->full_percent;
  if (signal == "io some") return w.io.has_value();
  if (signal == "io full") return w.io && w.io->full_percent;
  if (signal == "cpi") return !w.micro.empty();
  if (signal == "llc") return !w.micro.empty() && w.micro[0].llc_miss_ratio;
  return w.throttled.has_value();
}

}  // namespace

TEST_SUITE("policy/interference properties") {
  TEST_CASE("2000 windows of any kind: 0 to 100, best effort's part within it") {
    AnyWindow any{4};
    for (int i = 0; i < 2000; ++i) {
      CAPTURE(i);
      const auto w = any();
      const auto d = degree(w, any.chance(0.5) ? kConfirmed : std::deque<bool>{});
      for (const double part : {d.cpu, d.micro, d.memory, d.io}) {
        CHECK(part >= 0);
        CHECK(part <= 100);
      }
      if (!d.degree) {
        CHECK_FALSE(d.be_degree);
        continue;
      }
      CHECK(*d.degree >= 0);
      CHECK(*d.degree <= 100);
      CHECK(d.be_degree.has_value() == (w.be_used && w.node_capacity.v > 0));
      if (!d.be_degree) continue;
      CHECK(*d.be_degree >= 0);
      CHECK(*d.be_degree <= *d.degree);
    }
  }
  TEST_CASE("more of any signal never gives a smaller degree") {
    AnyWindow any{22};
    for (int i = 0; i < 1000; ++i) {
      const auto w = any();
      const auto before = degree(w, kConfirmed);
      for (const auto& push : pushes()) {
        if (!has(w, push.signal)) continue;
        CAPTURE(i);
        CAPTURE(push.signal);
        auto worse = w;
        push.more(worse);
        const auto after = degree(worse, kConfirmed);
        REQUIRE(after.degree.has_value() == before.degree.has_value());
        if (before.degree) CHECK(*after.degree >= *before.degree);
      }
    }
  }
  TEST_CASE("more best effort never gives it a smaller part") {
    AnyWindow any{23};
    for (int i = 0; i < 1000; ++i) {
      auto w = any();
      w.be_used = MilliCpu{static_cast<std::int64_t>(any.up_to(5000))};
      const auto before = degree(w, kConfirmed).be_degree;
      w.be_used->v += 100;
      const auto after = degree(w, kConfirmed).be_degree;
      REQUIRE(after.has_value() == before.has_value());
      if (before) CHECK(*after >= *before);
    }
  }
  TEST_CASE("the order of the containers does not matter") {
    AnyWindow any{21};
    for (int i = 0; i < 1000; ++i) {
      auto w = any();
      const auto before = degree(w, kConfirmed);
      std::shuffle(w.micro.begin(), w.micro.end(), any.random());
      const auto after = degree(w, kConfirmed);
      CHECK(after.degree == before.degree);
      CHECK(after.micro == before.micro);
      CHECK(after.missing == before.missing);
      CHECK(after.top == before.top);
    }
  }
}
