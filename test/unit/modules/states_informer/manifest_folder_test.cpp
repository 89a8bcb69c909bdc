#include "modules/states_informer/manifest_folder.hpp"

#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "fixtures.hpp"
#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::states;
using namespace koordlet::test;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMax = 4u << 20;

WallTime now() { return std::chrono::system_clock::now(); }
/// Every file written so far is old enough to be trusted by its times.
WallTime later() { return now() + std::chrono::hours{1}; }

void scan(ManifestFolder& folder) { REQUIRE(folder.scan(now()).has_value()); }

std::vector<std::string> uids(const ManifestFolder& folder) {
  std::vector<std::string> out;
  for (const auto& [name, file] : folder.files()) {
    for (const auto& e : file.pods) out.push_back(e.pod->uid);
  }
  return out;
}

using Uids = std::vector<std::string>;

}  // namespace

TEST_SUITE("states_informer/manifest_folder") {
  TEST_CASE("only manifests are read: no dot files, no editor leftovers, no folders") {
    CHECK(is_manifest_name("a.yaml"));
    CHECK(is_manifest_name("a.yml"));
    CHECK(is_manifest_name("a.json"));
    for (const char* name : {"",
                             ".a.yaml",
                             "..data",
                             "a.yaml~",
                             "#a.yaml#",
                             "#a.yaml",
                             ".#a.yaml",
                             "a.yaml.swp",
                             "a.YAML",
                             "a.txt",
                             "yaml",
                             "4913"}) {
      CAPTURE(name);
      CHECK_FALSE(is_manifest_name(name));
    }
    const FakeTree tree{{"a.yaml", pod_yaml("u1", "a")},
                        {".hidden.yaml", pod_yaml("u2", "b")},
                        {"dir.yaml/x.yaml", pod_yaml("u3", "c")},
                        {"b.json", R"({"kind":"Service","apiVersion":"v1"})"}};
    ManifestFolder folder{tree.root(), kMax};
    scan(folder);
    CHECK(uids(folder) == Uids{"u1"});
    CHECK(folder.files().at("b.json").faults.empty());
  }

  TEST_CASE("a missing folder is an error, and one that goes away keeps its objects") {
    ManifestFolder missing{"/nonexistent/manifests", kMax};
    const auto r = missing.scan(now());
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kNotFound);
    CHECK(contains(r.error().context, "/nonexistent/manifests"));

    const FakeTree tree{{"m/a.yaml", pod_yaml("u1", "a")}};
    ManifestFolder folder{tree.path("m"), kMax};
    scan(folder);
    tree.remove("m");
    CHECK(folder.scan(now()).has_error());
    CHECK(uids(folder) == Uids{"u1"});
  }

  TEST_CASE("a half-written file keeps its last good objects until it is whole again") {
    const FakeTree tree{{"a.yaml", pod_yaml("u1", "a") + pod_yaml("u2", "b")},
                        {"other.yaml", pod_yaml("u9", "z")}};
    ManifestFolder folder{tree.root(), kMax};
    scan(folder);
    const std::string whole = pod_yaml("u1", "a") + pod_yaml("u2", "b") + pod_yaml("u3", "c");
    // Every cut must leave the pods of before, the whole text those of now. A cut between documents
    // reads as a shorter file, as does one inside the third whose rest is still a pod.
    for (std::size_t cut = 0; cut < whole.size(); cut += 7) {
      CAPTURE(cut);
      tree.write("a.yaml", whole.substr(0, cut));
      scan(folder);
      const auto& file = folder.files().at("a.yaml");
      if (!file.faults.empty()) CHECK(file.pods.size() == 2);
      tree.write("a.yaml", pod_yaml("u1", "a") + pod_yaml("u2", "b"));
      scan(folder);
    }
    for (const char* broken : {"",
                               "  \n",
                               "# nothing\n",
                               "apiVersion: v1\nkind: Pod\nmetadata: {na",
                               "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\n",
                               "apiVersion: v1\n",
                               "{\"kind\": \"Pod\","}) {
      CAPTURE(broken);
      tree.write("a.yaml", broken);
      scan(folder);
      CHECK(uids(folder) == Uids{"u1", "u2", "u9"});
      CHECK_FALSE(folder.files().at("a.yaml").confirmed);
      CHECK(folder.files().at("a.yaml").faults.size() == 1);
    }
    tree.write("a.yaml", whole);
    scan(folder);
    CHECK(uids(folder) == Uids{"u1", "u2", "u3", "u9"});
    CHECK(folder.files().at("a.yaml").confirmed);
    CHECK(folder.files().at("a.yaml").faults.empty());
  }

  TEST_CASE("an empty list is an answer: its pods are gone") {
    const FakeTree tree{{"a.json", R"({"kind":"PodList","apiVersion":"v1","items":[
        {"metadata":{"name":"a","namespace":"b","uid":"u1"}}]})"}};
    ManifestFolder folder{tree.root(), kMax};
    scan(folder);
    CHECK(uids(folder) == Uids{"u1"});
    tree.write("a.json", R"({"kind":"PodList","apiVersion":"v1","items":[]})");
    scan(folder);
    CHECK(uids(folder).empty());
    CHECK(folder.files().at("a.json").faults.empty());
  }

  TEST_CASE("a file seen for the first time gives its good objects and names the bad ones") {
    const FakeTree tree{{"a.yaml",
                         pod_yaml("u1", "a") + pod_yaml("../x", "b") +
                             "---\nkind: Pod\n---\napiVersion: v2\nkind: Pod\n"}};
    ManifestFolder folder{tree.root(), kMax};
    for (int i = 0; i < 2; ++i) {  // reading it again changes nothing
      scan(folder);
      const auto& file = folder.files().at("a.yaml");
      CHECK(uids(folder) == Uids{"u1"});
      CHECK(file.confirmed);
      REQUIRE(file.faults.size() == 3);
      CHECK(contains(file.faults[0], "pod default/b: metadata.uid: \"../x\""));
      CHECK(contains(file.faults[1], "object 3: expected apiVersion and kind"));
      CHECK(contains(file.faults[2], "object 4: v2/Pod"));
    }
  }

  TEST_CASE("what cannot be opened or is no file is a fault, never a wait") {
    const FakeTree tree{{"big.yaml", std::string(1000, '#')}};
    REQUIRE(::mkfifo(tree.path("pipe.yaml").c_str(), 0600) == 0);
    fs::create_symlink("nowhere", tree.path("dangling.yaml"));
    fs::create_directory(tree.path("sub"));
    fs::create_symlink("sub", tree.path("dir-link.yaml"));
    ManifestFolder folder{tree.root(), 999};
    scan(folder);
    for (const char* name : {"big.yaml", "pipe.yaml", "dangling.yaml", "dir-link.yaml"}) {
      CAPTURE(name);
      REQUIRE(folder.files().contains(name));
      CHECK(folder.files().at(name).faults.size() == 1);
      CHECK_FALSE(folder.files().at(name).confirmed);
    }
  }

  TEST_CASE("a removed file takes its objects with it") {
    const FakeTree tree{{"a.yaml", pod_yaml("u1", "a")}, {"b.yaml", pod_yaml("u2", "b")}};
    ManifestFolder folder{tree.root(), kMax};
    scan(folder);
    tree.remove("a.yaml");
    scan(folder);
    CHECK(uids(folder) == Uids{"u2"});
    tree.write("a.yaml", "broken: [");
    scan(folder);  // no memory of a file that was gone
    CHECK(uids(folder) == Uids{"u2"});
  }

  TEST_CASE("a mounted ConfigMap is followed through its ..data link") {
    const FakeTree tree{{"..v1/pods.yaml", pod_yaml("u1", "a")},
                        {"..v2/pods.yaml", pod_yaml("u2", "b")}};
    fs::create_symlink("..v1", tree.path("..data"));
    fs::create_symlink("..data/pods.yaml", tree.path("pods.yaml"));
    ManifestFolder folder{tree.root(), kMax};
    scan(folder);
    CHECK(uids(folder) == Uids{"u1"});
    fs::create_symlink("..v2", tree.path("..data_tmp"));
    fs::rename(tree.path("..data_tmp"), tree.path("..data"));
    // Even files trusted by their times are read anew: they are other files.
    REQUIRE(folder.scan(later()).has_value());
    CHECK(uids(folder) == Uids{"u2"});
  }

  TEST_CASE("unchanged files are not read again, changed and doubtful ones are") {
    const FakeTree tree{{"a.yaml", pod_yaml("u1", "a")}, {"bad.yaml", "["}};
    ManifestFolder folder{tree.root(), kMax};
    REQUIRE(folder.scan(later()).has_value());
    const auto first = folder.generation();
    const auto* pod = folder.files().at("a.yaml").pods[0].pod.get();
    REQUIRE(folder.scan(later()).has_value());
    CHECK(folder.files().at("a.yaml").pods[0].pod.get() == pod);
    CHECK(folder.generation() == first + 1);  // the bad one is tried again
    tree.write("a.yaml", pod_yaml("u1", "longer"));
    REQUIRE(folder.scan(later()).has_value());
    CHECK(folder.files().at("a.yaml").pods[0].pod->name == "longer");
    // Written a moment ago: the same size and times could hide a second write.
    tree.write("a.yaml", pod_yaml("u1", "shorty"));
    scan(folder);
    tree.write("a.yaml", pod_yaml("u1", "shorts"));
    scan(folder);
    CHECK(folder.files().at("a.yaml").pods[0].pod->name == "shorts");
  }

  TEST_CASE("a refused NodeSLO field keeps the value of the file's earlier reading") {
    const FakeTree tree{{"slo.yaml", slo_yaml("n1", "{cpuSuppressThresholdPercent: 60}")}};
    ManifestFolder folder{tree.root(), kMax};
    scan(folder);
    tree.write(
        "slo.yaml",
        slo_yaml("n1", "{cpuSuppressThresholdPercent: 101, memoryEvictThresholdPercent: 80}"));
    scan(folder);
    const auto& file = folder.files().at("slo.yaml");
    REQUIRE(file.slos.size() == 1);
    CHECK(file.slos[0].slo->threshold->cpu_suppress_threshold_percent == 60);
    CHECK(file.slos[0].slo->threshold->memory_evict_threshold_percent == 80);
    REQUIRE(file.faults.size() == 1);
    CHECK(contains(file.faults[0], "101: expected 0..100"));
    CHECK(file.confirmed);
  }
}
