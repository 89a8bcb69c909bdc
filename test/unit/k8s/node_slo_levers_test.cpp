#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "unit/k8s/node_slo_bed.hpp"

using namespace koordlet;
using namespace koordlet::k8s;

namespace {

NodeSloResult classes(const std::string& strategy, const NodeSlo* last = nullptr) {
  return slo_of("{resourceQOSStrategy: " + strategy + "}", last);
}

bool has(const std::vector<std::string>& lines, std::string_view part) {
  return std::any_of(lines.begin(), lines.end(), [part](const auto& line) {
    return line.find(part) != std::string::npos;
  });
}

}  // namespace

TEST_SUITE("k8s/node_slo levers") {
  TEST_CASE("resctrlQOS: what is said is there, what is not is absent") {
    const auto r = classes(
        "{lsrClass: {resctrlQOS: {enable: true}}, beClass: {resctrlQOS: {enable: true, "
        "catRangeStartPercent: 0, catRangeEndPercent: 30, mbaPercent: 0}}}");
    CHECK(r.faults.empty());
    CHECK(r.slo.resctrl.lsr.enable == true);
    CHECK_FALSE(r.slo.resctrl.lsr.end_percent);
    CHECK_FALSE(r.slo.resctrl.ls.enable);
    CHECK(r.slo.resctrl.be.end_percent == 30);
    CHECK_FALSE(r.slo.resctrl.be.mba_percent);
  }

  TEST_CASE("out of range: the last good value of that field, else absent, and one fault") {
    const auto good =
        classes("{beClass: {resctrlQOS: {enable: true, catRangeEndPercent: 40}}}").slo;
    const auto spec = "{beClass: {resctrlQOS: {enable: false, catRangeEndPercent: 101}}}";
    auto r = classes(spec, &good);
    CHECK(r.slo.resctrl.be.enable == false);
    CHECK(r.slo.resctrl.be.end_percent == 40);
    REQUIRE(r.faults.size() == 1);
    CHECK(has(r.faults, "beClass.resctrlQOS.catRangeEndPercent: 101"));
    CHECK_FALSE(classes(spec).slo.resctrl.be.end_percent);
  }

  TEST_CASE("a class of the wrong type is one fault, and every lever keeps what it had") {
    const auto good = classes(
                          "{beClass: {cpuQOS: {enable: true, groupIdentity: -1}, resctrlQOS: "
                          "{enable: true}}}")
                          .slo;
    const auto r = classes("{beClass: 7}", &good);
    CHECK(r.slo == good);
    CHECK(r.faults.size() == 1);
  }

  TEST_CASE("cpuQOS and the CPU policy") {
    const auto r = classes(
        "{policies: {cpuPolicy: coreSched}, lsClass: {cpuQOS: {enable: true, groupIdentity: 3}}, "
        "beClass: {cpuQOS: {enable: true, groupIdentity: -1, schedIdle: 1}}}");
    CHECK(r.slo.cpu_qos.core_sched == true);
    CHECK(r.slo.cpu_qos.be.group_identity == -1);
    CHECK(r.slo.cpu_qos.be.sched_idle == true);
    CHECK_FALSE(r.slo.cpu_qos.ls.group_identity);
    CHECK(has(r.faults, "groupIdentity: 3"));
  }

  TEST_CASE("blkioQOS: a block that is refused is its last good form, the others go on") {
    const std::string first =
        "{beClass: {blkioQOS: {enable: true, blocks: [{name: vdb, type: device, ioCfg: {readIOPS: "
        "1000, writeBPS: 10485760, ioWeightPercent: 60}}]}}}";
    const auto good = classes(first);
    CHECK(good.faults.empty());
    REQUIRE(good.slo.blkio.be.blocks.size() == 1);
    const auto& block = good.slo.blkio.be.blocks[0];
    CHECK(block.read_iops == 1000);
    CHECK(block.write_bps == 10'485'760);
    CHECK(block.weight_percent == 60);
    CHECK(block.read_bps == 0);
    const auto r = classes(
        "{beClass: {blkioQOS: {enable: true, blocks: [{name: vdb, type: device, ioCfg: {readIOPS: "
        "-1}}, {name: vdc, type: tape}, 5, {name: vdd, type: device, ioCfg: {readIOPS: 5}}]}}}",
        &good.slo);
    REQUIRE(r.slo.blkio.be.blocks.size() == 2);
    CHECK(r.slo.blkio.be.blocks[0] == block);
    CHECK(r.slo.blkio.be.blocks[1].name == "vdd");
    CHECK(r.faults.size() == 3);
  }

  TEST_CASE("blkioQOS: a user model needs all six numbers; other classes have no blocks") {
    auto r = classes(
        "{cgroupRoot: {blkioQOS: {enable: true, blocks: [{name: vdb, type: device, ioCfg: "
        "{enableUserModel: true, modelReadBPS: 1}}]}}}");
    CHECK(r.slo.blkio.root.blocks.empty());
    CHECK(has(r.faults, "modelReadSeqIOPS: absent"));
    r = classes("{lsClass: {blkioQOS: {enable: true, blocks: [{name: vdb, type: device}]}}}");
    CHECK(has(r.faults, "lsClass.blkioQOS.blocks: without effect"));
  }

  TEST_CASE("systemStrategy: flags, ranges, features") {
    const auto r = slo_of(
        "{systemStrategy: {minFreeKbytesFactor: 100, watermarkScaleFactor: 5, memcgReapBackGround: "
        "1, schedIdleSaverWmark: 4000000, schedFeatures: {ID_ABSOLUTE_EXPEL: true, lower: true, "
        "NEXT_BUDDY: 3}}}");
    CHECK(r.slo.system.min_free_kbytes_factor == 100);
    CHECK_FALSE(r.slo.system.watermark_scale_factor);
    CHECK(r.slo.system.memcg_reap_background == true);
    CHECK(r.slo.system.idle_saver_wmark == 4'000'000);
    CHECK(r.slo.system.sched_features == std::map<std::string, bool>{{"ID_ABSOLUTE_EXPEL", true}});
    CHECK(r.faults.size() == 3);
  }

  TEST_CASE("the annotation of a pod: blocks, or one fault and none") {
    const auto pod_of = [](const std::string& annotation) {
      const auto documents = parse_documents(
          "metadata: {name: p, namespace: d, uid: u1, annotations: {koordinator.sh/blkioQOS: '" +
          annotation + "'}}\nspec: {}\n");
      REQUIRE(documents.has_value());
      return decode_pod(documents->front()).value();
    };
    auto r = pod_of(R"({"blocks":[{"name":"pvc1","type":"podvolume","ioCfg":{"readIOPS":1000}}]})");
    REQUIRE(r.pod.io_blocks.size() == 1);
    CHECK(r.pod.io_blocks[0].kind == IoBlockKind::kPodVolume);
    CHECK(r.faults.empty());
    r = pod_of(R"({"blocks":[{"name":"../x","type":"podvolume"}]})");
    CHECK(r.pod.io_blocks.empty());
    CHECK(r.faults.size() == 1);
    r = pod_of("[");
    CHECK(r.pod.io_blocks.empty());
    CHECK(r.faults.size() == 1);
  }
}
