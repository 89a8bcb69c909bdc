#include <fstream>
#include <set>

#include <doctest/doctest.h>

#include "filled_view.hpp"
#include "modules/status_api/status_json.hpp"

/// docs/rest.md against the answers: no field is missing in either.
namespace koordlet::test {
namespace {

using Fields = std::set<std::string>;

std::string join(const std::string& prefix, const std::string& field) {
  if (prefix.empty() || field.empty()) return prefix + field;
  return prefix + "." + field;
}

/// "a.{b,c}_d" is "a.b_d" and "a.c_d".
void expand(const std::string& spec, Fields& out) {
  const auto open = spec.find('{');
  if (open == std::string::npos) {
    out.insert(spec);
    return;
  }
  const auto close = spec.find('}', open);
  REQUIRE(close != std::string::npos);
  for (std::size_t from = open + 1; from <= close;) {
    const auto end = std::min(spec.find(',', from), close);
    expand(spec.substr(0, open) + spec.substr(from, end - from) + spec.substr(close + 1), out);
    from = end + 1;
  }
}

/// The tables "| field | what |" by the heading above them.
class Document {
 public:
  explicit Document(const std::string& file) {
    std::ifstream in{file};
    REQUIRE(in.good());
    std::string heading;
    bool in_table = false;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("### ") || line.starts_with("#### "))
        heading = line.substr(line.find(' ') + 1);
      in_table = line.starts_with("| field |") || (in_table && line.starts_with("|"));
      if (in_table && (line.starts_with("| `") || line.starts_with("| (")))
        tables_[heading].push_back(line);
    }
  }
  /// Leaves of the object of this heading, each below `prefix`.
  void leaves(const std::string& heading, const std::string& prefix, Fields& out) const {
    CAPTURE(heading);
    const auto table = tables_.find(heading);
    REQUIRE(table != tables_.end());
    for (const auto& row : table->second) {
      const auto bar = row.find(" | ");
      const auto what = row.substr(bar + 3);
      for (const auto& field : fields(row.substr(0, bar))) {
        if (what.starts_with("as [")) {
          leaves(what.substr(4, what.find(']') - 4), join(prefix, field), out);
        } else {
          out.insert(join(prefix, field));
        }
      }
    }
  }

 private:
  /// What stands in backquotes; "" for "(top level)".
  static Fields fields(const std::string& cell) {
    Fields out;
    for (auto from = cell.find('`'); from != std::string::npos;) {
      const auto end = cell.find('`', from + 1);
      expand(cell.substr(from + 1, end - from - 1), out);
      from = cell.find('`', end + 1);
    }
    if (out.empty()) out.insert("");
    return out;
  }
  std::map<std::string, std::vector<std::string>> tables_;
};

bool stands_before(const std::string& path, const Fields& documented) {
  const auto at = documented.lower_bound(path);
  return at != documented.end() && at->starts_with(path) && at->size() > path.size() &&
         (at->at(path.size()) == '.' || at->at(path.size()) == '[');
}

/// Leaves of an answer; null and empty stand for what they could hold.
void answered(const json::value& v,
              const std::string& path,
              const Fields& documented,
              Fields& out) {
  if (const auto* list = v.if_array(); list != nullptr && !list->empty()) {
    for (const auto& item : *list) answered(item, path + "[]", documented, out);
  } else if (const auto* object = v.if_object(); object != nullptr && !object->empty()) {
    const bool is_map = documented.contains(path + ".*");
    for (const auto& [key, value] : *object)
      answered(value, join(path, is_map ? "*" : std::string{key}), documented, out);
  } else {
    const bool is_empty = v.is_null() || v.is_array() || v.is_object();
    if (!is_empty || !stands_before(path, documented)) out.insert(path);
  }
}

void compare(const Fields& documented, const Fields& seen) {
  for (const auto& field : documented) {
    CAPTURE(field);
    CHECK_MESSAGE(seen.contains(field), "documented, not answered");
  }
  for (const auto& field : seen) {
    CAPTURE(field);
    CHECK_MESSAGE(documented.contains(field), "answered, not documented");
  }
}

const Document& document() {
  static const Document all{std::string{KOORDLET_SOURCE_DIR} + "/docs/rest.md"};
  return all;
}

TEST_SUITE("status_api/document") {
  TEST_CASE("docs/rest.md names each field that is answered, and no other") {
    const Filled filled;
    struct Row {
      const char* heading;
      std::vector<std::string> paths;
    };
    const Row rows[] = {
        {"GET /api/v1/status", {"/api/v1/status"}},
        {"GET /api/v1/node", {"/api/v1/node"}},
        {"GET /api/v1/pods", {"/api/v1/pods"}},
        {"GET /api/v1/explain/UID, GET /api/v1/explain/NAMESPACE/NAME",
         {"/api/v1/explain/ls-1", "/api/v1/explain/shop/batch"}},
        {"GET /api/v1/qos", {"/api/v1/qos"}},
        {"GET /api/v1/interference", {"/api/v1/interference"}},
        {"GET /api/v1/predictions", {"/api/v1/predictions"}},
        {"GET /api/v1/executor", {"/api/v1/executor"}},
        {"GET /api/v1/audit", {"/api/v1/audit"}},
        {"GET /api/v1/recorder", {"/api/v1/recorder"}},
        {"GET /api/v1/config", {"/api/v1/config"}},
        {"GET /api/v1/capabilities", {"/api/v1/capabilities"}},
    };
    for (const auto& row : rows) {
      CAPTURE(row.heading);
      Fields documented, seen;
      document().leaves(row.heading, "", documented);
      for (const auto& path : row.paths) answered(fetch(filled.view, path), "", documented, seen);
      compare(documented, seen);
    }
  }
  TEST_CASE("one pod has the fields of the list and its own") {
    const Filled filled;
    Fields documented, seen;
    document().leaves("pod", "", documented);
    document().leaves("GET /api/v1/pods/UID", "", documented);
    for (const char* uid : {"be-1", "ls-1"}) {
      answered(fetch(filled.view, std::string{"/api/v1/pods/"} + uid), "", documented, seen);
    }
    compare(documented, seen);
  }
  TEST_CASE("what a restore answers") {
    Fields documented, seen;
    document().leaves("POST /api/v1/restore", "", documented);
    const auto response = status_api::restored({Filled::refusal()});
    answered(json::parse(response.body), "", documented, seen);
    compare(documented, seen);
  }
}

}  // namespace
}  // namespace koordlet::test
