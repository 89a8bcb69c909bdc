#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "app/doctor.hpp"
#include "app/text_table.hpp"

namespace koordlet::app {
namespace {

std::string_view to_string(Answer answer) {
  switch (answer) {
    case Answer::kYes:
      return "yes";
    case Answer::kNo:
      return "no";
    case Answer::kNotApplicable:
      return "n.a.";
  }
  return "?";
}

}  // namespace

bool fit_to_run(const std::vector<Check>& checks) {
  return std::none_of(checks.begin(), checks.end(), [](const Check& c) {
    return c.required && c.answer == Answer::kNo;
  });
}

std::vector<StatusView::Capability> to_capabilities(const std::vector<Check>& checks) {
  std::vector<StatusView::Capability> out;
  for (const auto& c : checks) {
    std::string detail = c.answer == Answer::kNotApplicable ? "n.a.: " + c.detail : c.detail;
    out.push_back({c.name, c.answer == Answer::kYes, std::move(detail), c.advice});
  }
  return out;
}

std::string doctor_text(const std::vector<Check>& checks) {
  TextTable table({{"what"}, {"answer"}, {"detail"}});
  for (const auto& c : checks) {
    table.row({c.name,
               std::string{to_string(c.answer)} +
                   (c.required && c.answer == Answer::kNo ? " (required)" : ""),
               c.detail});
  }
  std::string out = table.text();
  bool first = true;
  for (const auto& c : checks) {
    if (c.answer != Answer::kNo) continue;
    if (first) out += "\nwhat to do:\n";
    first = false;
    out += fmt::format("  {}: {}\n", c.name, terminal_text(c.advice));
  }
  return out;
}

std::string doctor_json(const std::vector<Check>& checks) {
  boost::json::array items;
  for (const auto& c : checks) {
    boost::json::object item;
    item["name"] = c.name;
    item["answer"] = to_string(c.answer);
    item["required"] = c.required;
    item["detail"] = terminal_text(c.detail);
    if (c.advice.empty()) {
      item["advice"] = nullptr;
    } else {
      item["advice"] = c.advice;
    }
    items.emplace_back(std::move(item));
  }
  boost::json::object body;
  body["ok"] = fit_to_run(checks);
  body["checks"] = std::move(items);
  return boost::json::serialize(body) + "\n";
}

}  // namespace koordlet::app
