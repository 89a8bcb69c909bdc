#include "model/audit.hpp"

#include <doctest/doctest.h>

#include "modules/status_api/routes.hpp"
#include "view_fixture.hpp"

using namespace koordlet;
using namespace koordlet::test;

namespace {

AuditEvent written(std::string_view cgroup, CgroupFile file = CgroupFile::kCpuMax) {
  AuditEvent e;
  e.at = kNow;
  e.kind = AuditKind::kWritten;
  e.key = CgroupKey{CgroupPath::parse(cgroup).value(), file, {}};
  e.plugin = "pressure";
  return e;
}

std::vector<std::int64_t> seqs(const json::object& body, const char* field) {
  std::vector<std::int64_t> out;
  for (const auto& e : body.at(field).as_array())
    out.push_back(e.at("seq").to_number<std::int64_t>());
  return out;
}

using Seqs = std::vector<std::int64_t>;

}  // namespace

TEST_SUITE("status_api/audit") {
  TEST_CASE("the oldest event makes room, numbers go on") {
    AuditLog log{2};
    for (int i = 0; i < 5; ++i) log.add(written("a"));
    REQUIRE(log.events().size() == 2);
    CHECK(log.events().front().seq == 4);
    CHECK(log.total() == 5);
  }

  TEST_CASE("newest first, in pages that survive events in between") {
    auto view = make_view(CgroupVersion::kV1);
    AuditLog log{100};
    for (int i = 0; i < 5; ++i) log.add(written("a"));
    view.audit = &log;
    const auto first = fetch(view, "/api/v1/audit", "limit=2");
    CHECK(seqs(first, "events") == Seqs{5, 4});
    CHECK(first.at("remaining").to_number<int>() == 3);
    log.add(written("a"));
    const auto token = std::string{first.at("continue").as_string()};
    const auto second = fetch(view, "/api/v1/audit", "limit=2&continue=" + token);
    CHECK(seqs(second, "events") == Seqs{3, 2});
  }

  TEST_CASE("?pod= takes its own files, its class and the levels, and nothing else") {
    auto view = make_view(CgroupVersion::kV1);
    AuditLog log{100};
    log.add(written("kubepods/besteffort/podbe-1"));   // 1: its own
    log.add(written("kubepods/besteffort/podbe-2"));   // 2: another pod
    log.add(written("kubepods/besteffort"));           // 3: its class
    log.add(written("", CgroupFile::kMinFreeKbytes));  // 4: the machine
    log.add(written("BE", CgroupFile::kCpuMax));       // 5: elsewhere
    AuditEvent level;
    level.kind = AuditKind::kLevel;
    log.add(level);  // 6
    AuditEvent eviction;
    eviction.kind = AuditKind::kEviction;
    eviction.pod = "be-2";
    log.add(eviction);  // 7: of the other
    view.audit = &log;
    CHECK(seqs(fetch(view, "/api/v1/audit", "pod=be-1"), "events") == Seqs{6, 3, 1});
    CHECK(seqs(fetch(view, "/api/v1/explain/be-1"), "decisions") == Seqs{6, 3, 1});
  }

  TEST_CASE("an unknown pod and a foreign token are refused") {
    auto view = make_view(CgroupVersion::kV1);
    for (const auto& [query, status] :
         {std::pair{"pod=nobody", 404U}, {"continue=xyz", 400U}, {"limit=0", 400U}}) {
      CHECK(fetch(view, "/api/v1/audit", query, status).contains("type"));
    }
    CHECK(fetch(view, "/api/v1/audit").at("events").as_array().empty());
  }
}
