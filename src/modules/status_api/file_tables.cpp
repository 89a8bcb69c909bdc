#include <algorithm>

#include <fmt/format.h>

#include "modules/status_api/explain.hpp"
#include "modules/status_api/held_index.hpp"
#include "modules/status_api/json_text.hpp"
#include "modules/status_api/list_writer.hpp"
#include "modules/status_api/qos_json.hpp"
#include "modules/status_api/status_json.hpp"

namespace koordlet::status_api {

namespace {

constexpr std::size_t kMaxOutcomes = 100;

struct Row {
  const CgroupKey* key = nullptr;
  const StatusView::HeldFile* held = nullptr;  ///< nullptr: wanted only
  const Desired* wish = nullptr;               ///< nullptr: held only
};

/// Wish and kernel side by side, one row a file, by key.
std::vector<Row> rows(const StatusView& view, const HeldIndex& index) {
  static const DesiredTable none;
  const auto& desired = view.desired != nullptr ? *view.desired : none;
  const auto& held = index.all();
  std::vector<Row> out;
  out.reserve(std::max(desired.size(), held.size()));
  auto wish = desired.begin();
  auto file = held.begin();
  while (wish != desired.end() || file != held.end()) {
    const bool take_wish =
        wish != desired.end() && (file == held.end() || wish->first <= (*file)->key);
    const bool take_file =
        file != held.end() && (wish == desired.end() || (*file)->key <= wish->first);
    Row row;
    row.key = take_wish ? &wish->first : &(*file)->key;
    if (take_wish) row.wish = &(wish++)->second;
    if (take_file) row.held = *file++;
    out.push_back(row);
  }
  return out;
}

json::object row_json(const StatusView& view, const Row& row) {
  const auto* wish = row.wish;
  const auto* held = row.held;
  return {{"cgroup", cgroup_text(row.key->path)},
          {"file", to_string(row.key->file)},
          {"item", text_or_null(row.key->item)},
          {"desired", wish != nullptr ? json::value(to_string(wish->value)) : nullptr},
          {"kernel", held != nullptr ? text_or_null(held->raw) : nullptr},
          {"held", held != nullptr},
          {"plugin", text_value(wish != nullptr ? wish->plugin : held->plugin, {})},
          {"reason", text_value(wish != nullptr ? wish->reason : held->reason, {})},
          {"age_ms", age_ms(view, wish != nullptr ? wish->since : held->since)},
          {"losers", wish != nullptr ? wish->losers.size() : held->losers.size()}};
}

/// A key as a token remembers it, and back.
std::string name_of(const CgroupKey& key) {
  return fmt::format("{},{},{}", to_string(key.file), key.item, key.path.str());
}
Result<CgroupKey> key_of(std::string_view name) {
  const auto first = name.find(',');
  const auto second = name.find(',', first == std::string_view::npos ? 0 : first + 1);
  const Error refused{Errc::kParse, "continue: not a token of this list"};
  if (first == std::string_view::npos || second == std::string_view::npos) return refused;
  const auto file = parse_cgroup_file(name.substr(0, first));
  const auto item = name.substr(first + 1, second - first - 1);
  auto path = CgroupPath::parse(name.substr(second + 1));
  if (!file || !is_item_of(*file, item) || !path) return refused;
  return CgroupKey{std::move(*path), *file, std::string{item}};
}

struct FilePage {
  Page page;
  std::optional<CgroupKey> after;
};

Result<FilePage> parse_file_page(std::string_view query, std::string_view list) {
  const auto parameters = parse_query(query, {"limit", "continue"});
  if (!parameters) return parameters.error();
  auto page = parse_page(*parameters, list);
  if (!page) return page.error();
  FilePage out;
  if (page->after) {
    auto after = key_of(*page->after);
    if (!after) return after.error();
    out.after = std::move(*after);
  }
  out.page = std::move(*page);
  return out;
}

json::object units_json(const StatusView::Units& u) {
  const auto text = [](const std::string& t) {
    return t.empty() ? json::value(nullptr) : text_value(t, {});
  };
  return {{"enabled", u.enabled},
          {"connected", u.connected},
          {"systemd", text(u.version)},
          {"fault", text(u.fault)},
          {"units", u.units},
          {"pending", u.pending},
          {"sets", u.sets},
          {"failures", u.failures},
          {"gone", u.gone},
          {"last_error", text(u.last_error)}};
}

}  // namespace

net::HttpResponse qos(const StatusView& view, std::string_view query) {
  const auto page = parse_file_page(query, "qos");
  if (!page) return problem(400, page.error().context);
  const HeldIndex index(view);
  const auto all = rows(view, index);
  ListWriter list("table", page->page, all.size());
  for (const auto& row : all) {
    if (!list.take(!page->after || *page->after < *row.key)) continue;
    list.add(row_json(view, row), name_of(*row.key));
  }
  return list.finish("qos", qos_state(view));
}

net::HttpResponse executor(const StatusView& view, std::string_view query) {
  const auto page = parse_file_page(query, "executor");
  if (!page) return problem(400, page.error().context);
  const HeldIndex index(view);
  ListWriter list("held", page->page, index.all().size());
  for (const auto* held : index.all()) {
    if (!list.take(!page->after || *page->after < held->key)) continue;
    list.add(held_file(view, *held), name_of(held->key));
  }
  const auto& e = view.executor;
  const auto us = [](const auto& d) { return d ? json::value(d->count()) : json::value(nullptr); };
  json::array outcomes;
  for (std::size_t i = 0; i < std::min(view.outcomes.size(), kMaxOutcomes); ++i) {
    outcomes.emplace_back(outcome(view.outcomes[i]));
  }
  return list.finish("executor",
                     json::object{{"dry_run", view.qos.dry_run},
                                  {"counters",
                                   {{"batches", e.batches},
                                    {"writes", e.writes},
                                    {"unchanged", e.unchanged},
                                    {"refused", e.refused},
                                    {"gone", e.gone},
                                    {"unsupported", e.unsupported},
                                    {"foreign", e.foreign},
                                    {"restored", e.restored},
                                    {"journal_failures", e.journal_failures}}},
                                  {"unit_properties", units_json(view.units)},
                                  {"last_batch_us", us(e.last_batch)},
                                  {"last_commit_us", us(e.last_commit)},
                                  {"outcomes", std::move(outcomes)},
                                  {"outcomes_total", view.outcomes.size()}});
}

}  // namespace koordlet::status_api
