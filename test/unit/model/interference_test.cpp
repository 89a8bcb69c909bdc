#include "model/interference.hpp"

#include <doctest/doctest.h>

namespace koordlet {
namespace {

using Component = InterferenceComponent;

constexpr Component kAll[] = {
    Component::kCpu, Component::kMicro, Component::kMemory, Component::kIo};

InterferenceDegree degree(std::vector<std::string> missing) {
  InterferenceDegree out;
  out.degree = 40;
  out.cpu = 10;
  out.micro = 20;
  out.memory = 0;
  out.io = 30;
  out.missing = std::move(missing);
  return out;
}

TEST_SUITE("interference") {
  TEST_CASE("all signals there: a component of 0 is 0") {
    const auto d = degree({});
    CHECK(component_of(d, Component::kCpu) == 10.0);
    CHECK(component_of(d, Component::kMicro) == 20.0);
    CHECK(component_of(d, Component::kMemory) == 0.0);
    CHECK(component_of(d, Component::kIo) == 30.0);
  }
  TEST_CASE("one of two signals of the CPU component will do, without both it is unknown") {
    CHECK(component_of(degree({"run queue"}), Component::kCpu) == 10.0);
    CHECK(component_of(degree({"cpu psi", "throttling"}), Component::kCpu) == 10.0);
    CHECK_FALSE(component_of(degree({"run queue", "cpu psi"}), Component::kCpu));
  }
  TEST_CASE("the micro component needs a CPI and what is usual; cache misses only add to it") {
    CHECK_FALSE(component_of(degree({"cpi", "llc"}), Component::kMicro));
    CHECK_FALSE(component_of(degree({"cpi baseline"}), Component::kMicro));
    CHECK(component_of(degree({"llc"}), Component::kMicro) == 20.0);
  }
  TEST_CASE("memory and io follow their PSI") {
    CHECK_FALSE(component_of(degree({"memory psi"}), Component::kMemory));
    CHECK_FALSE(component_of(degree({"io psi"}), Component::kIo));
    CHECK(component_of(degree({"io psi"}), Component::kMemory) == 0.0);
  }
  TEST_CASE("without a degree nothing is known") {
    for (const auto c : kAll) CHECK_FALSE(component_of(InterferenceDegree{}, c));
  }
}

}  // namespace
}  // namespace koordlet
