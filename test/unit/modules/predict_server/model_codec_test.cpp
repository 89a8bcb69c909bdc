#include "modules/predict_server/model_codec.hpp"

#include <cmath>
#include <cstdint>

#include <doctest/doctest.h>

using namespace koordlet;
using namespace koordlet::predict;
using namespace std::chrono_literals;

namespace {

constexpr policy::PredictTime kStart{1700006400};

Model fresh(std::chrono::seconds window = 3600s) {
  return Model{cpu_config(window), memory_config(window)};
}

/// A day and a half of a daily wave with steps of five minutes.
Model learned() {
  auto m = fresh();
  for (int i = 0; i < 432; ++i) {
    const double wave = std::sin(i * 2 * 3.14159265 / 288) + 0.1 * ((i * 7) % 13);
    m.feed(kStart + i * 300s, 4 + wave, (8 + wave) * 1073741824);
  }
  m.show();
  return m;
}

TEST_SUITE("predict_server/codec") {
  TEST_CASE("what comes back forecasts the same") {
    const auto before = learned();
    auto after = fresh();
    REQUIRE(decode_model(encode_model(before), after).has_value());
    after.show();
    REQUIRE(before.shown.cpu.forecast);
    REQUIRE(after.shown.cpu.forecast);
    CHECK_FALSE(before.shown.cpu.forecast->cold);
    CHECK(after.shown.cpu.forecast->peak == before.shown.cpu.forecast->peak);
    CHECK(after.shown.cpu.forecast->best == before.shown.cpu.forecast->best);
    CHECK(after.shown.memory.forecast->peak == before.shown.memory.forecast->peak);
    CHECK(after.shown.cpu.usual == before.shown.cpu.usual);
    CHECK(after.shown.memory.usual == before.shown.memory.usual);
    CHECK(after.shown.cpu.score == before.shown.cpu.score);
    CHECK(after.shown.cpu.learned == before.shown.cpu.learned);
    CHECK(encode_model(after) == encode_model(before));
  }
  TEST_CASE("a row is far below what a checkpoint may hold") {
    CHECK(encode_model(learned()).size() < 32'768);
  }
  TEST_CASE("a model that has seen nothing, or memory only") {
    auto after = fresh();
    REQUIRE(decode_model(encode_model(fresh()), after).has_value());
    CHECK_FALSE(after.cpu.history().started());
    auto half = fresh();
    half.feed(kStart, std::nullopt, 1e9);
    REQUIRE(decode_model(encode_model(half), after).has_value());
    CHECK_FALSE(after.cpu.history().started());
    CHECK(after.memory.history().started());
  }
  TEST_CASE("a row of another window keeps what was seen and learns its margins anew") {
    auto after = fresh(7200s);
    REQUIRE(decode_model(encode_model(learned()), after).has_value());
    after.show();
    CHECK(after.shown.cpu.learned == 431 * 300s);
    CHECK(after.shown.cpu.score == policy::Score{});
    REQUIRE(after.shown.cpu.forecast);
    CHECK(after.shown.cpu.forecast->cold);
  }
  TEST_CASE("another format is told apart from damage") {
    auto row = encode_model(learned());
    row[0] = 2;
    auto m = fresh();
    const auto read = decode_model(row, m);
    REQUIRE(read.has_error());
    CHECK(read.error().code == Errc::kNotSupported);
    CHECK(read.error().context == "format 2: expected format 1");
    CHECK(decode_model("", m).error().code == Errc::kParse);
  }
  TEST_CASE("a row that is cut off or goes on is refused") {
    const auto row = encode_model(learned());
    for (std::size_t size = 1; size < row.size(); size += 7) {
      auto m = fresh();
      CHECK(decode_model(row.substr(0, size), m).has_error());
    }
    auto m = fresh();
    CHECK(decode_model(row + '\0', m).error().code == Errc::kParse);
  }
  TEST_CASE("any changed byte is an error or a model, never a crash") {
    const auto row = encode_model(learned());
    for (std::size_t at = 1; at < row.size(); at += 3) {
      for (const int flip : {0x01, 0x80, 0xFF}) {
        auto bad = row;
        bad[at] = static_cast<char>(bad[at] ^ flip);
        auto m = fresh();
        if (!decode_model(bad, m)) continue;
        m.show();
        m.feed(kStart + 433 * 300s, 4.0, 8e9);
      }
    }
  }
}

TEST_SUITE("predict_server/keys") {
  TEST_CASE("keys name their subject") {
    CHECK(class_key(PriorityClass::kProd) == "class/prod");
    CHECK(class_key(PriorityClass::kNone) == "class/none");
    CHECK(pod_of(pod_key("u-1")) == "u-1");
    CHECK(pod_of("node").empty());
    for (const char* key : {"node", "system", "class/mid", "class/batch", "class/free", "pod/u"})
      CHECK(is_key(key));
    for (const char* key : {"", "pod/", "class/", "class/x", "nodes"}) CHECK_FALSE(is_key(key));
  }
}

}  // namespace
