#include "kernel/cgroup_layout.hpp"

#include <doctest/doctest.h>

#include "kernel/cgroup_fs.hpp"

using namespace koordlet;
using kernel::CgroupLayout;

namespace {

const CgroupLayout kSystemd{CgroupDriver::kSystemd};
const CgroupLayout kCgroupfs{CgroupDriver::kCgroupfs};
constexpr std::string_view kUid = "7712555c-ce62-454a-9e18-9ff0217b8941";
const std::string kLongId(64, 'a');

std::string file(CgroupVersion version, const CgroupPath& path, CgroupFile file) {
  kernel::HostRoots roots;
  roots.cgroup = "/host-cgroup";
  return kernel::CgroupFs{roots, version}.file({path, file});
}

}  // namespace

TEST_SUITE("cgroup_layout/names") {
  TEST_CASE("kubepods root and tiers") {
    CHECK(kSystemd.tier(KubeQos::kGuaranteed).str() == "kubepods.slice");
    CHECK(kSystemd.tier(KubeQos::kBurstable).str() == "kubepods.slice/kubepods-burstable.slice");
    CHECK(kSystemd.tier(KubeQos::kBestEffort).str() == "kubepods.slice/kubepods-besteffort.slice");
    CHECK(kCgroupfs.tier(KubeQos::kGuaranteed).str() == "kubepods");
    CHECK(kCgroupfs.tier(KubeQos::kBurstable).str() == "kubepods/burstable");
    CHECK(kCgroupfs.tier(KubeQos::kBestEffort).str() == "kubepods/besteffort");
    CHECK(kSystemd.kubepods() == kSystemd.tier(KubeQos::kGuaranteed));
  }

  TEST_CASE("pods of each class under both drivers") {
    CHECK(kSystemd.pod(KubeQos::kGuaranteed, "a-b").value().str() ==
          "kubepods.slice/kubepods-poda_b.slice");
    CHECK(kSystemd.pod(KubeQos::kBurstable, "a-b").value().str() ==
          "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda_b.slice");
    CHECK(kSystemd.pod(KubeQos::kBestEffort, "a-b").value().str() ==
          "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-poda_b.slice");
    CHECK(kCgroupfs.pod(KubeQos::kGuaranteed, "a-b").value().str() == "kubepods/poda-b");
    CHECK(kCgroupfs.pod(KubeQos::kBurstable, "a-b").value().str() == "kubepods/burstable/poda-b");
    CHECK(kCgroupfs.pod(KubeQos::kBestEffort, "a-b").value().str() == "kubepods/besteffort/poda-b");
  }

  TEST_CASE("static pod: the uid is a config hash without dashes") {
    constexpr std::string_view hash = "0123456789abcdef0123456789abcdef";
    const auto pod = kSystemd.pod(KubeQos::kBurstable, hash).value();
    CHECK(pod.name() == "kubepods-burstable-pod0123456789abcdef0123456789abcdef.slice");
    const auto back = kSystemd.parse_pod_dir(KubeQos::kBurstable, pod.name());
    REQUIRE(back);
    CHECK(back->uid == hash);
  }

  TEST_CASE("containers of all runtimes under both drivers") {
    const auto pod = kSystemd.pod(KubeQos::kBestEffort, "u").value();
    struct Row {
      const char* runtime;
      const char* name;
    };
    for (const auto& row : {Row{"containerd", "cri-containerd-abc.scope"},  // row 122
                            Row{"docker", "docker-abc.scope"},
                            Row{"cri-o", "crio-abc.scope"},
                            Row{"pouch", "pouch-abc.scope"}}) {
      CAPTURE(row.runtime);
      const auto path = kSystemd.container(pod, row.runtime, "abc");
      REQUIRE(path);
      CHECK(*path == pod.child(row.name));
      const auto plain_pod = kCgroupfs.pod(KubeQos::kBestEffort, "u").value();
      CHECK(kCgroupfs.container(plain_pod, row.runtime, "abc").value() == plain_pod.child("abc"));
    }
  }

  TEST_CASE("worked path: systemd, Burstable, containerd, cpu weight on v1 and v2") {
    const auto pod = kSystemd.pod(KubeQos::kBurstable, kUid).value();
    const auto container = kSystemd.container(pod, "containerd", "8f1a").value();
    const std::string below =
        "kubepods.slice/kubepods-burstable.slice/"
        "kubepods-burstable-pod7712555c_ce62_454a_9e18_9ff0217b8941.slice/"
        "cri-containerd-8f1a.scope/";
    CHECK(file(CgroupVersion::kV1, container, CgroupFile::kCpuWeight) ==
          "/host-cgroup/cpu/" + below + "cpu.shares");
    CHECK(file(CgroupVersion::kV2, container, CgroupFile::kCpuWeight) ==
          "/host-cgroup/" + below + "cpu.weight");
  }

  TEST_CASE("worked path: cgroupfs, v1, Guaranteed pod") {
    const auto pod = kCgroupfs.pod(KubeQos::kGuaranteed, kUid).value();
    const auto container = kCgroupfs.container(pod, "containerd", "8f1a").value();
    CHECK(file(CgroupVersion::kV1, container, CgroupFile::kCpuWeight) ==
          "/host-cgroup/cpu/kubepods/pod7712555c-ce62-454a-9e18-9ff0217b8941/8f1a/cpu.shares");
  }

  TEST_CASE("worked path: cgroupfs, v2, BestEffort pod") {
    CHECK(kCgroupfs.pod(KubeQos::kBestEffort, kUid).value().str() ==
          "kubepods/besteffort/pod7712555c-ce62-454a-9e18-9ff0217b8941");
  }
}

TEST_SUITE("cgroup_layout/refusals") {
  TEST_CASE("uids outside the alphabet never become a path") {
    for (const std::string& uid : {std::string{},
                                   std::string{"../x"},
                                   std::string{"a/b"},
                                   std::string{"."},
                                   std::string{"a_b"},
                                   std::string{"a b"},
                                   std::string{"a\n"},
                                   std::string{"a.slice"},
                                   std::string(254, 'a')}) {
      CAPTURE(uid);
      for (const auto& layout : {kSystemd, kCgroupfs}) {
        const auto r = layout.pod(KubeQos::kBestEffort, uid);
        REQUIRE(r.has_error());
        CHECK(r.error().code == Errc::kRange);
      }
    }
  }

  TEST_CASE("a uid that the alphabet allows and the file system does not is refused, not thrown") {
    CHECK(kCgroupfs.pod(KubeQos::kBurstable, std::string(252, 'a')));
    CHECK(kCgroupfs.pod(KubeQos::kBurstable, std::string(253, 'a')).error().code == Errc::kRange);
    CHECK(kSystemd.pod(KubeQos::kBestEffort, std::string(226, 'a')));
    CHECK(kSystemd.pod(KubeQos::kBestEffort, std::string(227, 'a')).error().code == Errc::kRange);
  }

  TEST_CASE("container ids and runtimes outside the contract") {
    const auto pod = kCgroupfs.pod(KubeQos::kBurstable, "u").value();
    for (const std::string& id : {std::string{},
                                  std::string{".."},
                                  std::string{"../../x"},
                                  std::string{"a.scope"},
                                  std::string{"a b"},
                                  std::string(129, 'a')}) {
      CAPTURE(id);
      for (const auto& layout : {kSystemd, kCgroupfs}) {
        CHECK(layout.container(pod, "containerd", id).error().code == Errc::kRange);
      }
    }
    for (const char* runtime : {"", "rkt", "../x", "Containerd"}) {
      CAPTURE(runtime);
      CHECK(kSystemd.container(pod, runtime, "abc").error().code == Errc::kRange);
      CHECK(kCgroupfs.container(pod, runtime, "abc").error().code == Errc::kRange);
    }
  }
}

TEST_SUITE("cgroup_layout/parse") {
  TEST_CASE("a pod's directory name gives its uid back, dashes included") {
    for (const auto& layout : {kSystemd, kCgroupfs}) {
      for (const auto qos : {KubeQos::kGuaranteed, KubeQos::kBurstable, KubeQos::kBestEffort}) {
        const auto pod = layout.pod(qos, kUid).value();
        const auto dir = layout.parse_pod_dir(qos, pod.name());
        REQUIRE(dir);
        CHECK(dir->uid == kUid);
        CHECK(dir->qos == qos);
      }
    }
  }

  TEST_CASE("names that are no pod") {
    for (const char* name : {"kubepods-burstable.slice",
                             "kubepods-besteffort.slice",
                             "kubepods-pod.slice",
                             "kubepods-poda-b.slice",
                             "kubepods-poda.scope",
                             "kubepods-poda",
                             "kubepods-burstable-poda.slice",
                             "crio-conmon-a.scope",
                             "system.slice",
                             ""}) {
      CAPTURE(name);
      CHECK_FALSE(kSystemd.parse_pod_dir(KubeQos::kGuaranteed, name));
    }
    for (const char* name : {"pod", "burstable", "besteffort", "poda/b", "pod..", "poda_b", ""}) {
      CAPTURE(name);
      CHECK_FALSE(kCgroupfs.parse_pod_dir(KubeQos::kGuaranteed, name));
    }
  }

  TEST_CASE("a pod below another tier is not this tier's") {
    CHECK_FALSE(kSystemd.parse_pod_dir(KubeQos::kBestEffort, "kubepods-burstable-poda.slice"));
    CHECK(kSystemd.parse_pod_dir(KubeQos::kBurstable, "kubepods-burstable-poda.slice"));
  }

  TEST_CASE("systemd container names") {
    CHECK(kSystemd.parse_container_dir("cri-containerd-8f1a.scope") == "8f1a");
    CHECK(kSystemd.parse_container_dir("docker-8f1a.scope") == "8f1a");
    CHECK(kSystemd.parse_container_dir("crio-8f1a.scope") == "8f1a");
    CHECK(kSystemd.parse_container_dir("crio-8f1a") == "8f1a");
    CHECK(kSystemd.parse_container_dir("pouch-8f1a.scope") == "8f1a");
    for (const char* name : {"crio-conmon-8f1a.scope",
                             "crio-conmon-8f1a",
                             "docker-8f1a",
                             "cri-containerd-.scope",
                             "cri-containerd-a.b.scope",
                             "init.scope",
                             "var-lib.mount",
                             "8f1a",
                             ""}) {
      CAPTURE(name);
      CHECK_FALSE(kSystemd.parse_container_dir(name));
      CHECK_FALSE(kSystemd.parse_container_dir(name, false));
    }
  }

  TEST_CASE("cgroupfs container names: 64 hex digits, or any id when not strict") {
    CHECK(kCgroupfs.parse_container_dir(kLongId) == kLongId);
    CHECK_FALSE(kCgroupfs.parse_container_dir(std::string(63, 'a')));
    CHECK_FALSE(kCgroupfs.parse_container_dir(std::string(64, 'A')));
    CHECK_FALSE(kCgroupfs.parse_container_dir(std::string(64, 'g')));
    CHECK(kCgroupfs.parse_container_dir("web-1", false) == "web-1");
    CHECK_FALSE(kCgroupfs.parse_container_dir("web-1"));
    for (const char* name :
         {"crio-conmon-a", "conmon-a", "init.scope", "system.slice", "x.mount", "..", ""}) {
      CAPTURE(name);
      CHECK_FALSE(kCgroupfs.parse_container_dir(name));
      CHECK_FALSE(kCgroupfs.parse_container_dir(name, false));
    }
  }
}
