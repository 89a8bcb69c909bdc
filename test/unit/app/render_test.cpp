#include "app/render.hpp"

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "app/text_table.hpp"

using namespace koordlet;
using namespace koordlet::app;

namespace {

boost::json::value parsed(std::string_view text) {
  return boost::json::parse(boost::json::string_view{text.data(), text.size()});
}

bool has(const std::string& text, std::string_view part) {
  if (text.find(part) != std::string::npos) return true;
  MESSAGE("not found: '", std::string{part}, "' in:\n", text);
  return false;
}

constexpr const char* kStatus = R"({
  "version": "0.1.0", "node": "n1", "uptime_ms": 7500000, "ready": true, "not_ready": [],
  "cgroup": {"version": "v1", "driver": "cgroupfs"},
  "qos": {"off": false, "dry_run": true, "profile": "pressure", "level": "HIGH",
          "level_age_ms": 12000, "node_use_percent": 83.14, "factor_permille": 300,
          "be_root_cap_milli": 1500, "stale": null, "ticks": 42, "level_changes": 3},
  "cpu_milli": {"capacity": 4000, "node_used": 3325, "ls_used": 2000, "be_used": 1200,
                "system_used": 125, "host_apps_used": 0},
  "memory_bytes": {"used": 1610612736, "total": 8589934592},
  "inputs": [{"name": "pods", "age_ms": 850, "stale": false},
             {"name": "nodeslo", "age_ms": null, "stale": false}],
  "sources": [{"name": "cold memory", "state": "unsupported", "ok": false, "fault": "no kidled", "last_ok_age_ms": null},
              {"name": "node cpu", "state": "ok", "ok": true, "fault": null, "last_ok_age_ms": 900},
              {"name": "psi", "state": "failed", "ok": false, "fault": "not built in", "last_ok_age_ms": null}],
  "pods": {"total": 3, "active": 2, "best_effort": 1},
  "files": {"held": 2, "contested": 0, "refused": 0, "refused_total": 1, "foreign_writes_total": 4},
  "history": {"series": 910, "rows": 12, "seals": 6, "sealed_series": 5460,
              "sealed_samples": 3276000, "rolled_minutes": 4320, "used_bytes": 13107200,
              "map_bytes": 268435456, "dropped_rows": 1, "dropped_batches": 2, "damaged_rows": 3,
              "refused_samples": 4},
  "faults": ["pod.yaml: spec: missing"], "faults_total": 9,
  "loop": {"missed_ticks": 0}
})";

constexpr const char* kPods = R"({"items": [
  {"uid": "u-1", "namespace": "shop", "name": "web", "phase": "Running", "terminating": false,
   "qos": "LS", "interference_degree": 77, "cpu_request_milli": null, "cpu_used_milli": 250, "memory_used_bytes": 1048576,
   "throttled_permille": 0, "sample_age_ms": 3000, "cpu_cap": null, "cpu_cap_milli": null,
   "cpu_cap_plugin": null},
  {"uid": "u-2", "namespace": "batch", "name": "sort", "phase": "Running", "terminating": true,
   "qos": "BE", "cpu_request_milli": 4000, "cpu_used_milli": 1200, "memory_used_bytes": 2097152,
   "throttled_permille": 125, "sample_age_ms": 3000, "cpu_cap": "120000 100000",
   "cpu_cap_milli": 1200, "cpu_cap_plugin": "pressure"}]})";

constexpr const char* kExplain = R"({
  "pod": {"uid": "u-2", "namespace": "batch", "name": "sort", "phase": "Running", "qos": "BE",
          "kube_qos": "BestEffort", "cgroup": "/kubepods/besteffort/podu-2",
          "cpu_used_milli": 1100, "cpu_request_milli": 4000},
  "level": {"level": "HIGH", "age_ms": 5000, "node_use_percent": 90, "factor_permille": 300,
            "changes_when": ["relaxes to MID when node use < 75 %"]},
  "dry_run": false,
  "caps": [{"cgroup": "/kubepods/besteffort/podu-2", "file": "cpu.max", "raw": "120000 100000",
            "value": "120000 100000", "original": "max 100000", "plugin": "pressure",
            "reason": "level HIGH", "age_ms": 5000, "contested": true}],
  "class_caps": [], "wanted": [],
  "cpu_path": [{"cgroup": "/kubepods/besteffort/podu-2", "file": "cpu.max", "limit_milli": 1200,
                "raw": "120000 100000", "owner": "pressure"},
               {"cgroup": "/kubepods", "file": "cpu.max", "limit_milli": "max",
                "raw": "max 100000", "owner": "nobody"}],
  "smallest_cpu_limit": {"cgroup": "/kubepods/besteffort/podu-2", "file": "cpu.max",
                         "limit_milli": 1200, "owner": "pressure"},
  "use_of_limit_permille": 916, "outcomes": [], "notes": ["a note"]})";

}  // namespace

TEST_SUITE("render") {
  TEST_CASE("status of a busy node") {
    const auto text = render_status(parsed(kStatus));
    CHECK(has(text, "0.1.0 on n1, up 2 h 5 min, cgroup v1 (cgroupfs)"));
    CHECK(has(text, "HIGH for 12 s; node use 83.1 %; factor 30.0 %"));
    CHECK(has(text, "3.325 of 4 cores used: LS 2, BE 1.2, system 0.125, host applications 0"));
    CHECK(has(text, "1.5 GiB of 8.0 GiB used"));
    CHECK(has(text,
              "910 series: 12 rows, 6 seals of 3276000 samples, 4320 minutes rolled up; 12.5 MiB "
              "of 256.0 MiB"));
    CHECK(
        has(text,
            "1 rows of a full store, 2 batches of a full queue, 3 damaged, 4 samples of names too "
            "long"));
    CHECK(has(text, "dry run"));
    CHECK(has(text, "would hold 2, 0 contested"));
    CHECK(has(text, "  cold memory  no         -  unsupported: no kidled\n"));
    CHECK(has(text, "  psi          no         -  failed: not built in\n"));
    CHECK(has(text, "  pod.yaml: spec: missing\n  ... and 8 more\n"));
    CHECK(text.find("stale        ") == std::string::npos);
  }

  TEST_CASE("status: unknown, null and wrong types are dashes, never zeros") {
    for (const char* body : {"{}",
                             "[]",
                             "null",
                             "3",
                             R"({"qos": null, "cpu_milli": [], "inputs": {}, "faults": "x"})",
                             R"({"cpu_milli": {"node_used": "many"}, "uptime_ms": {}})"}) {
      CAPTURE(body);
      const auto text = render_status(parsed(body));
      CHECK(has(text, "- of - cores used: LS -, BE -, system -, host applications -"));
      CHECK(has(text, "- for -; node use -; factor -"));
      CHECK(has(text, "- known, - active, - best effort"));
      CHECK(has(text, "history       -\n"));
    }
  }

  TEST_CASE("status while the policy is off, and with stale inputs") {
    CHECK(has(render_status(parsed(R"({"qos": {"off": true}})")), "off: nothing is limited"));
    CHECK(has(render_status(parsed(R"({"qos": {"stale": "node 7 s old"}})")),
              "node 7 s old: caps hold, nothing relaxes"));
  }

  TEST_CASE("pods as aligned columns") {
    CHECK(render_pods(parsed(kPods)) ==
          "POD         QOS  PHASE         CPU  REQUEST  CAP  BY         MEMORY  THROTTLED  GETS  "
          "HURT  "
          "SAMPLE  UID\n"
          "shop/web    LS   Running      0.25        -    -  -         1.0 MiB      0.0 %     -    "
          "77     "
          "3 s  u-1\n"
          "batch/sort  BE   Terminating   1.2        4  1.2  pressure  2.0 MiB     12.5 %     -    "
          " -     "
          "3 s  u-2\n");
  }

  TEST_CASE("no pods, and pods without any field") {
    CHECK(render_pods(parsed(R"({"items": []})")) == "no pods\n");
    CHECK(render_pods(parsed("{}")) == "no pods\n");
    CHECK(has(render_pods(parsed(R"({"items": [{}, null]})")), "-/-"));
  }

  TEST_CASE("explain of a capped pod") {
    const auto text = render_explain(parsed(kExplain));
    CHECK(has(text, "pod          batch/sort (uid u-2)\n"));
    CHECK(has(text, "BE (Kubernetes BestEffort), Running"));
    CHECK(has(text, "1.1 cores of 4 requested, - memory, - throttled (- old)"));
    CHECK(
        has(text, "1.2 cores by cpu.max of /kubepods/besteffort/podu-2 (owner pressure); 91.6 %"));
    CHECK(has(text, "level HIGH (contested)"));
    CHECK(has(text, "\nheld for this pod:\n"));
    CHECK(has(text, "relaxes to MID when node use < 75 %"));
    CHECK(has(text, "  a note\n"));
    CHECK(text.find("not limited because") == std::string::npos);
    CHECK(text.find("wanted, not held") == std::string::npos);
  }

  TEST_CASE("a dry run holds nothing: what it would hold is called so") {
    std::string body = kExplain;
    body.replace(body.find("\"dry_run\": false"), 16, "\"dry_run\": true");
    const auto text = render_explain(parsed(body.c_str()));
    CHECK(has(text, "\nwould be held for this pod:\n"));
    CHECK(text.find("\nheld for") == std::string::npos);
    body = kStatus;
    body.replace(body.find("\"dry_run\": true"), 15, "\"dry_run\": false");
    CHECK(has(render_status(parsed(body.c_str())), "2 held, 0 contested"));
  }

  TEST_CASE("explain of a pod that is hurt: signals, what is missing, whom to blame") {
    const auto text = render_explain(parsed(R"({"interference": {
        "degree": 77, "be_degree": 60, "level": "high", "interfered": true, "missing": ["cpi", "llc"],
        "evidence": {"wait_us": 1500000, "run_us": 9000000, "wait_p95_us": 2500, "wait_p99_us": null,
                     "behind_best_effort_us": 1200000,
                     "psi": {"cpu": {"some_percent": 12.5, "full_percent": null}, "memory": null}},
        "culprit_signal": "run queue",
        "culprits": [{"pod": "batch/sort", "score": 0.5, "cpu_used_milli": 1500, "windows": 12}]}})"));
    CHECK(has(text, "interference: degree 77 (high, interfered), 60 of it by best effort\n"));
    CHECK(has(text, "1500.00 ms waited in 9000.00 ms, p95 2.50 ms, p99 -; 1200.00 ms behind"));
    CHECK(has(text, "no signal  cpi, llc\n"));
    CHECK(has(text, "to blame, by run queue:\n"));
    CHECK(has(text, "batch/sort   0.50"));
  }

  TEST_CASE("explain of a pod without caps says why, and of nothing shows dashes") {
    CHECK(has(render_explain(parsed(R"({"caps": [], "why_no_caps": ["only best-effort"]})")),
              "not limited because:\n  only best-effort\n"));
    const auto text = render_explain(parsed("{}"));
    CHECK(has(text, "pod          -/- (uid -)\n"));
    CHECK(has(text, "limit        none known\n"));
  }

  TEST_CASE("text from outside cannot steer the terminal") {
    const auto text =
        render_pods(parsed(R"({"items": [{"name": "\u001b[31mred", "namespace": "a\nb"}]})"));
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(has(text, "a?b/?[31mred"));
  }

  TEST_CASE("units for people") {
    CHECK(cores_text(std::nullopt) == "-");
    CHECK(cores_text(0) == "0");
    CHECK(cores_text(1500) == "1.5");
    CHECK(cores_text(333) == "0.333");
    CHECK(cores_text(-250) == "-0.25");
    CHECK(bytes_text(1023) == "1023 B");
    CHECK(bytes_text(1024) == "1.0 KiB");
    CHECK(bytes_text(std::int64_t{5} << 40) == "5.0 TiB");
    CHECK(age_text(999) == "999 ms");
    CHECK(age_text(59'999) == "59 s");
    CHECK(age_text(60'000) == "1 min 0 s");
    CHECK(age_text(3'600'000) == "1 h 0 min");
    CHECK(age_text(200'000'000) == "2 d 7 h");
    CHECK(permille_text(1000) == "100.0 %");
    CHECK(percent_text(64.94) == "64.9 %");
  }

  TEST_CASE("columns are measured in characters, not bytes") {
    TextTable table({{"a"}, {"b"}});
    table.row({"\xC3\xA9", "1"});
    table.row({"ee"});
    CHECK(table.text() == "a   b\n\xC3\xA9   1\nee  -\n");
  }
}
