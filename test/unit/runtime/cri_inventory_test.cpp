#include "runtime/cri_inventory.hpp"

#include <doctest/doctest.h>

namespace koordlet::runtime {
namespace {

using Listing = CriInventory::Listing;

HookPod pod_named(const std::string& id) {
  HookPod out;
  out.id = id;
  return out;
}
CriContainer made(const std::string& id, const std::string& pod, std::string told = {}) {
  CriContainer out;
  out.is.id = id;
  out.is.pod_id = pod;
  out.is.env = {{"A", "1"}};
  out.told_as = std::move(told);
  return out;
}
/// As the runtime's lists have it: no environment.
HookContainer listed(const std::string& id, const std::string& pod) {
  HookContainer out;
  out.id = id;
  out.pod_id = pod;
  out.state = HookContainer::State::kRunning;
  out.resources.cpu_shares = 77;
  return out;
}

struct Filled {
  Filled() {
    it->put_pod(pod_named("p"));
    it->put_container(made("c", "p", "new-1"));
  }
  std::shared_ptr<CriInventory> it = std::make_shared<CriInventory>();
};

}  // namespace

TEST_SUITE("cri_inventory") {
  TEST_CASE("a list completes what calls told, adds what is new, forgets what is gone") {
    Filled f;
    f.it->put_pod(pod_named("gone"));
    f.it->put_container(made("g", "gone", "new-2"));
    {
      Listing listing{f.it};
      HookInventory there;
      there.pods = {pod_named("p"), pod_named("q")};
      there.containers = {listed("c", "p"), listed("d", "q")};
      listing.take(there);
    }
    CHECK(f.it->pods() == 2);
    CHECK(f.it->find_pod("gone") == nullptr);
    REQUIRE(f.it->find_container("c") != nullptr);
    CHECK(f.it->find_container("c")->is.env.size() == 1);
    CHECK(f.it->find_container("c")->is.resources.cpu_shares == 77);
    CHECK(f.it->find_container("c")->is.state == HookContainer::State::kRunning);
    CHECK(f.it->find_container("d") != nullptr);
    CHECK(f.it->id_of("new-1") == "c");
    CHECK(f.it->id_of("new-2") == "new-2");
  }

  TEST_CASE("what a call made or removed while the lists were asked for is believed") {
    Filled f;
    {
      Listing listing{f.it};
      f.it->put_pod(pod_named("fresh"));
      f.it->put_container(made("f", "fresh"));
      f.it->erase_pod("p");
      HookInventory old;
      old.pods = {pod_named("p")};
      old.containers = {listed("c", "p")};
      listing.take(old);
    }
    CHECK(f.it->find_pod("fresh") != nullptr);
    CHECK(f.it->find_container("f") != nullptr);
    CHECK(f.it->find_pod("p") == nullptr);
    CHECK(f.it->find_container("c") == nullptr);
    const Listing later{f.it};  // nothing of the first one is left
    Listing{f.it}.take({});
    CHECK(f.it->pods() == 0);
  }

  TEST_CASE("two listings at once: the end of the first takes nothing from the second") {
    Filled f;
    auto first = std::make_unique<Listing>(f.it);
    Listing second{f.it};
    f.it->put_pod(pod_named("fresh"));
    first->take({});
    first.reset();
    second.take({});
    CHECK(f.it->find_pod("fresh") != nullptr);
  }

  TEST_CASE("a pod takes its containers and their names along") {
    Filled f;
    f.it->put_container(made("other", "q"));
    f.it->erase_pod("p");
    CHECK(f.it->containers() == 1);
    CHECK(f.it->id_of("new-1") == "new-1");
    CHECK(f.it->all().containers.size() == 1);
  }
}

}  // namespace koordlet::runtime
