#include <doctest/doctest.h>

#include "view_fixture.hpp"

using namespace koordlet;
using namespace koordlet::test;

namespace {

Proposal loser() {
  return {{path("kubepods/besteffort/podbe-1"), CgroupFile::kCpuMax},
          CpuMax{Limit{std::chrono::microseconds{400'000}}, std::chrono::microseconds{100'000}},
          Role::kBase,
          "spec",
          "batch limit 4000m"};
}

void set_be_pod(StatusView& view, const std::function<void(Pod&)>& change) {
  auto state = std::make_shared<NodeState>(*view.state);
  auto pod = *state->pods[0];
  change(pod);
  state->pods[0] = std::make_shared<const Pod>(pod);
  view.state = state;
}

std::string why(const StatusView& view, const std::string& pod) {
  const auto body = fetch(view, "/api/v1/explain/" + pod);
  CHECK(body.at("caps").as_array().empty());
  std::string out;
  for (const auto& line : body.at("why_no_caps").as_array()) out += text(line) + "\n";
  return out;
}

}  // namespace

TEST_SUITE("status_api/explain") {
  TEST_CASE("a held quota shows file, kernel content, original, who, why, since and losers") {
    for (const auto version : {CgroupVersion::kV1, CgroupVersion::kV2}) {
      auto view = make_view(version);
      view.held[0].losers = {loser()};
      CAPTURE(to_string(version));
      for (const char* name : {"be-1", "shop/batch"}) {
        CAPTURE(name);
        const auto body = fetch(view, std::string{"/api/v1/explain/"} + name);
        CHECK(text(body.at("pod").at("uid")) == "be-1");
        CHECK_FALSE(body.contains("why_no_caps"));
        REQUIRE(body.at("caps").as_array().size() == 1);
        const auto& cap = body.at("caps").as_array().at(0).as_object();
        CHECK(text(cap.at("file")) == "cpu.max");
        CHECK(text(cap.at("path")) ==
              (version == CgroupVersion::kV1
                   ? "/sys/fs/cgroup/cpu/kubepods/besteffort/podbe-1/cpu.cfs_quota_us"
                   : "/sys/fs/cgroup/kubepods/besteffort/podbe-1/cpu.max"));
        CHECK(text(cap.at("raw")) == "120000 100000");
        CHECK(cap.at("limit_milli").as_int64() == 1200);
        CHECK(text(cap.at("original")) == "max 100000");
        CHECK(text(cap.at("plugin")) == "pressure");
        CHECK(text(cap.at("reason")) == view.held[0].reason);
        CHECK(text(cap.at("since")) == "2026-01-02T03:04:00.000Z");
        CHECK(cap.at("age_ms").as_int64() == 5000);
        const auto& lost = cap.at("losers").as_array().at(0).as_object();
        CHECK(text(lost.at("plugin")) == "spec");
        CHECK(text(lost.at("role")) == "base");
        CHECK(text(lost.at("value")) == "400000 100000");
      }
    }
  }
  TEST_CASE("use, request and throttling stand beside the cap that binds") {
    const auto body = fetch(make_view(CgroupVersion::kV2), "/api/v1/explain/be-1");
    CHECK(text(body.at("smallest_cpu_limit").at("cgroup")) == "/kubepods/besteffort/podbe-1");
    CHECK(text(body.at("smallest_cpu_limit").at("owner")) == "pressure");
    CHECK(body.at("use_of_limit_permille").as_int64() == 750);  // 900m of 1200m
    CHECK(body.at("pod").at("throttled_permille").as_int64() == 250);
    CHECK(body.at("pod").at("cpu_request_milli").as_int64() == 4000);
  }
  TEST_CASE("a BE root held below the pod's own cap binds first (v1 and v2)") {
    for (const auto version : {CgroupVersion::kV1, CgroupVersion::kV2}) {
      CAPTURE(to_string(version));
      auto view = make_view(version);
      auto root =
          hold({path("kubepods/besteffort"), CgroupFile::kCpuMax}, "/root/file", "100000 100000");
      root.plugin = "suppress";
      view.held.insert(view.held.begin(), root);
      const auto body = fetch(view, "/api/v1/explain/be-1");
      const auto& bound = body.at("smallest_cpu_limit").as_object();
      CHECK(text(bound.at("cgroup")) == "/kubepods/besteffort");
      CHECK(bound.at("limit_milli").as_int64() == 1000);
      CHECK(text(bound.at("owner")) == "suppress");
      CHECK(body.at("use_of_limit_permille").as_int64() == 900);
      CHECK(has_line(body.at("notes"), "smaller than the pod's own cap"));
      REQUIRE(body.at("class_caps").as_array().size() == 1);
      CHECK(text(body.at("class_caps").as_array().at(0).at("plugin")) == "suppress");
      CHECK(body.at("caps").as_array().size() == 1);
    }
  }
  TEST_CASE("a limit that somebody else set on the way up is found and its owner named") {
    auto view = make_view(CgroupVersion::kV2);
    view.read_cpu_max = [](const CgroupPath& p) -> std::optional<StatusView::CpuLimit> {
      if (p.str() != "kubepods") return StatusView::CpuLimit{CpuMax{}, "/x/" + p.str()};
      return StatusView::CpuLimit{
          CpuMax{Limit{std::chrono::microseconds{25'000}}, std::chrono::microseconds{50'000}},
          "/sys/fs/cgroup/kubepods/cpu.max"};
    };
    const auto body = fetch(view, "/api/v1/explain/be-1");
    const auto& bound = body.at("smallest_cpu_limit").as_object();
    CHECK(text(bound.at("cgroup")) == "/kubepods");
    CHECK(bound.at("limit_milli").as_int64() == 500);
    CHECK(text(bound.at("owner")) == "not koordlet");
    CHECK(text(bound.at("path")) == "/sys/fs/cgroup/kubepods/cpu.max");
    const auto& path = body.at("cpu_path").as_array();
    REQUIRE(path.size() == 4);  // pod, BE root, kubepods, and the BE root's cpuset
    CHECK(text(path.at(1).at("limit_milli")) == "max");
    CHECK(text(path.at(1).at("owner")) == "nobody");
  }
  TEST_CASE("a BE root cpuset smaller than the quota binds") {
    auto view = make_view(CgroupVersion::kV2);
    view.be_root->cpuset = CpuSet::range(3, 3);
    const auto body = fetch(view, "/api/v1/explain/be-1");
    CHECK(text(body.at("smallest_cpu_limit").at("file")) == "cpuset.cpus");
    CHECK(body.at("smallest_cpu_limit").at("limit_milli").as_int64() == 1000);
    CHECK(text(body.at("smallest_cpu_limit").at("raw")) == "3");
  }
  TEST_CASE("limits that nobody can read are null and said so, never unlimited") {
    auto view = make_view(CgroupVersion::kV2);
    view.held.clear();
    view.be_root.reset();
    const auto body = fetch(view, "/api/v1/explain/be-1");
    CHECK(body.at("smallest_cpu_limit").is_null());
    CHECK(body.at("use_of_limit_permille").is_null());
    for (const auto& limit : body.at("cpu_path").as_array()) {
      CHECK(limit.at("limit_milli").is_null());
      CHECK(limit.at("owner").is_null());
    }
    CHECK(has_line(body.at("notes"), "3 of 3 limits on the path are not known"));
  }
  TEST_CASE("a held file that was not read yet is unknown, not unlimited") {
    auto view = make_view(CgroupVersion::kV2);
    view.held[0].raw.clear();
    auto cpus = hold({path("kubepods/besteffort"), CgroupFile::kCpuset}, "/f", "0-3");
    cpus.raw.clear();
    view.held.push_back(cpus);
    const auto body = fetch(view, "/api/v1/explain/be-1");
    const auto& limits = body.at("cpu_path").as_array();
    CHECK(limits.at(0).at("limit_milli").is_null());
    CHECK(limits.at(3).at("limit_milli").is_null());
    CHECK(body.at("smallest_cpu_limit").is_null());
    CHECK_FALSE(has_line(body.at("notes"), "wanted is"));
  }
  TEST_CASE("a foreign value in the kernel is not shown as ours") {
    auto view = make_view(CgroupVersion::kV2);
    view.held[0].raw = "max 100000";
    view.held[0].contested = true;
    view.held[0].foreign_writes = 9;
    const auto body = fetch(view, "/api/v1/explain/be-1");
    CHECK(text(body.at("cpu_path").as_array().at(0).at("limit_milli")) == "max");
    CHECK(text(body.at("cpu_path").as_array().at(0).at("owner")) == "not koordlet");
    CHECK(has_line(body.at("notes"), "contested"));
    CHECK(has_line(body.at("notes"), "holds 'max 100000', wanted is '120000 100000'"));
  }
  TEST_CASE("each level says what would change it, from the thresholds that hold") {
    auto view = make_view(CgroupVersion::kV2);
    auto lines = [&] { return fetch(view, "/api/v1/explain/be-1").at("level").at("changes_when"); };
    CHECK(has_line(lines(), "relaxes to MID when node use < 75 % for 2 samples (1 of 2 so far)"));
    view.qos.level = "MID";
    view.qos.below_exit = 0;
    CHECK(has_line(lines(), "rises to HIGH at node use >= 80 %"));
    CHECK(has_line(lines(), "relaxes to NONE when node use < 60 % for 2 samples (0 of 2 so far)"));
    CHECK(has_line(lines(), "factor 300 permille rises by at most 100 a sample up to 700"));
    view.qos.level = "NONE";
    view.qos.factor_permille = 1000;
    view.qos.effective.pressure.mid_percent = 50;
    CHECK(has_line(lines(), "rises to MID at node use >= 50 %, to HIGH at >= 80 %"));
    CHECK_FALSE(has_line(lines(), "factor"));
    view.qos.hold_until = kNow + milliseconds{9500};
    CHECK(has_line(lines(), "another 10 s"));
    view.qos.hold_until = kNow;
    CHECK_FALSE(has_line(lines(), "nothing relaxes"));
    view.qos.stale = "node signals 4 s old";
    CHECK(has_line(lines(), "stale: node signals 4 s old"));
    view.qos.effective.pressure.enable = false;
    CHECK(has_line(lines(), "disabled"));
    view.qos.off = true;
    CHECK(has_line(lines(), "the policy is off"));
  }
  TEST_CASE("a pod without caps: the deciding reason is given") {
    auto view = make_view(CgroupVersion::kV2);
    CHECK(why(view, "ls-1").find("only best-effort pods are capped: this one is LS") == 0);
    view.qos.be_root_cap_milli = 3000;
    CHECK(why(view, "shop/free").find("no CPU request: it shares the BE-root cap (3000m)") !=
          std::string::npos);
    view.held.clear();
    CHECK(why(view, "be-1").find("no plugin proposed") == 0);
    view.qos.stale = "node 5 s";
    CHECK(why(view, "be-1").find("inputs are stale (node 5 s)") == 0);
    view.signals.reset();
    CHECK(why(view, "be-1").find("no node signals yet") == 0);
    set_be_pod(view, [](Pod& p) { p.phase = PodPhase::kSucceeded; });
    CHECK(why(view, "be-1").find("not running: phase Succeeded") != std::string::npos);
    view.qos.off = true;
    CHECK(why(view, "be-1").find("the policy is off: there is no NodeSLO") == 0);
  }
  TEST_CASE("a wish that is not in the kernel: dry run, refusal, or not yet") {
    auto view = make_view(CgroupVersion::kV2);
    const auto key = view.held[0].key;
    view.held.clear();
    DesiredTable table;
    Desired wish{CpuMax{Limit{std::chrono::microseconds{120'000}}},
                 Role::kCap,
                 "pressure",
                 "why",
                 kNow - seconds{1},
                 {},
                 0};
    table.emplace(key, wish);
    view.desired = &table;
    CHECK(why(view, "be-1").find("'120000 100000' of pressure is not written yet") !=
          std::string::npos);
    view.outcomes = {{key, OutcomeKind::kRefused, "120000 100000", "cpu.max: Invalid argument"}};
    CHECK(why(view, "be-1").find("did not hold: refused: cpu.max: Invalid argument") !=
          std::string::npos);
    const auto body = fetch(view, "/api/v1/explain/be-1");
    CHECK(text(body.at("outcomes").as_array().at(0).at("kind")) == "refused");
    CHECK(text(body.at("wanted").as_array().at(0).at("value")) == "120000 100000");
    CHECK(body.at("wanted").as_array().at(0).at("age_ms").as_int64() == 1000);
    view.qos.dry_run = true;
    CHECK(why(view, "be-1").find("dry run") == 0);
  }
  TEST_CASE("a marked pod shows its mark") {
    auto view = make_view(CgroupVersion::kV2);
    view.held.clear();
    set_be_pod(view, [](Pod& p) { p.annotations["koordinator.sh/qos-hands-off"] = "true"; });
    CHECK(why(view, "be-1").find("does not count in namespace shop") != std::string::npos);
    view.qos.effective.hands_off_namespaces = {"shop"};
    CHECK(why(view, "be-1").find("hands off: annotation") == 0);
    const auto reasons = fetch(view, "/api/v1/explain/be-1").at("why_no_caps").as_array();
    CHECK(reasons.size() == 1);
  }
  TEST_CASE("a BE-labelled pod outside the BE root is told apart") {
    auto view = make_view(CgroupVersion::kV2);
    set_be_pod(view, [](Pod& p) {
      p.kube_qos = KubeQos::kBurstable;
      p.cgroup = path("kubepods/burstable/podbe-1");
    });
    CHECK(has_line(fetch(view, "/api/v1/explain/be-1").at("notes"), "lives outside"));
  }
  TEST_CASE("a pod whose cgroup is unknown has no path and says why") {
    auto view = make_view(CgroupVersion::kV2);
    set_be_pod(view, [](Pod& p) { p.cgroup = CgroupPath{}; });
    const auto body = fetch(view, "/api/v1/explain/be-1");
    CHECK(body.at("pod").at("cgroup").is_null());
    CHECK(body.at("cpu_path").as_array().empty());
    CHECK(has_line(body.at("why_no_caps"), "cgroup is not known"));
  }
  TEST_CASE("names that share a prefix do not mix") {
    auto view = make_view(CgroupVersion::kV2);
    auto other = view.held[0];
    other.key.path = path("kubepods/besteffort/podbe-1-2");
    auto inside = view.held[0];
    inside.key.path = path("kubepods/besteffort/podbe-1/c0");
    view.held = {inside, other, view.held[0]};
    const auto body = fetch(view, "/api/v1/explain/be-1");
    const auto& caps = body.at("caps").as_array();
    REQUIRE(caps.size() == 2);
    CHECK(text(caps.at(0).at("cgroup")) == "/kubepods/besteffort/podbe-1");
    CHECK(text(caps.at(1).at("cgroup")) == "/kubepods/besteffort/podbe-1/c0");
  }
  TEST_CASE("an unknown pod is 404; a name means the live one of two") {
    auto view = make_view(CgroupVersion::kV2);
    CHECK(text(fetch(view, "/api/v1/explain/shop/nope", "", 404).at("detail")).find("shop/nope") !=
          std::string::npos);
    fetch(view, "/api/v1/explain/nope", "", 404);
    fetch(view, "/api/v1/explain/shop/batch/x", "", 404);
    auto state = std::make_shared<NodeState>(*view.state);
    auto done = *state->pods[0];
    done.uid = "be-0";
    done.phase = PodPhase::kFailed;
    state->pods.insert(state->pods.begin(), std::make_shared<const Pod>(done));
    view.state = state;
    CHECK(text(fetch(view, "/api/v1/explain/shop/batch").at("pod").at("uid")) == "be-1");
  }
}
