#include "model/node_state.hpp"

#include <doctest/doctest.h>

#include "model/proposal.hpp"

using namespace koordlet;

namespace {

std::shared_ptr<const Pod> pod(std::string uid) {
  auto p = std::make_shared<Pod>();
  p->uid = std::move(uid);
  return p;
}

}  // namespace

TEST_SUITE("model/node_state") {
  TEST_CASE("pods are found by whole uid only") {
    NodeState state;
    CHECK(find_pod(state, "a") == nullptr);
    state.pods = {pod("a"), pod("ab"), pod("c")};
    REQUIRE(find_pod(state, "ab") != nullptr);
    CHECK(find_pod(state, "ab")->uid == "ab");
    CHECK(find_pod(state, "a") == state.pods[0].get());
    CHECK(find_pod(state, "c") == state.pods[2].get());
    CHECK(find_pod(state, "b") == nullptr);
    CHECK(find_pod(state, "") == nullptr);
    CHECK(find_pod(state, "d") == nullptr);
  }
}

TEST_SUITE("model/proposal") {
  TEST_CASE("words for roles and outcomes are distinct") {
    CHECK(to_string(Role::kBase) == "base");
    CHECK(to_string(Role::kBoost) == "boost");
    CHECK(to_string(Role::kCap) == "cap");
    CHECK(to_string(OutcomeKind::kUnchanged) == "unchanged");
    CHECK(to_string(OutcomeKind::kWritten) == "written");
    CHECK(to_string(OutcomeKind::kGone) == "gone");
    CHECK(to_string(OutcomeKind::kRefused) == "refused");
    CHECK(to_string(OutcomeKind::kUnsupported) == "unsupported");
    CHECK(to_string(OutcomeKind::kPending) == "pending");
    CHECK(to_string(OutcomeKind::kDryRun) == "dry-run");
  }
}
