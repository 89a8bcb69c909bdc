#include "model/metric_selector.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/near_name.hpp"
#include "model/metric_kind.hpp"

namespace koordlet {
namespace {

constexpr std::size_t kMaxText = 4096;
constexpr std::size_t kMaxMatches = 16;

bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// What an error repeats of text from outside.
std::string shown(std::string_view text) {
  constexpr std::size_t kMax = 80;
  std::string out{text.substr(0, kMax)};
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  return text.size() > kMax ? out + "..." : out;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : all_{text}, rest_{text} {}

  Result<MetricSelector> read() {
    MetricSelector out;
    blanks();
    out.metric = name();
    blanks();
    if (rest_.empty() && !out.metric.empty()) return out;
    if (!take("{")) return fault("expected '{' or the end");
    blanks();
    while (!take("}")) {
      auto match = read_match();
      if (!match) return match.error();
      if (out.matches.size() == kMaxMatches)
        return fault(fmt::format("more than {} labels", kMaxMatches));
      out.matches.push_back(std::move(*match));
      blanks();
      if (take(",")) {
        blanks();
      } else if (!rest_.starts_with('}')) {
        return fault("expected ',' or '}'");
      }
    }
    blanks();
    if (!rest_.empty()) return fault("expected the end");
    if (out.metric.empty() && out.matches.empty()) return fault("expected a metric or a label");
    return out;
  }

 private:
  Result<MetricSelector::Match> read_match() {
    MetricSelector::Match out;
    out.label = name();
    if (out.label.empty()) return fault("expected the name of a label");
    blanks();
    if (rest_.starts_with("=~") || rest_.starts_with("!~"))
      return fault("regular expressions are not supported, expected '=' or '!='");
    if (take("!=")) {
      out.equal = false;
    } else if (!take("=")) {
      return fault("expected '=' or '!='");
    }
    blanks();
    if (!take("\"")) return fault("expected a value in double quotes");
    while (!take("\"")) {
      if (rest_.empty()) return fault("the value's quotes are not closed");
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '\\') {
        c = rest_.empty() ? '\0' : rest_.front();
        if (c != '\\' && c != '"' && c != 'n') return fault("expected \\\\, \\\" or \\n");
        rest_.remove_prefix(1);
        if (c == 'n') c = '\n';
      }
      out.value += c;
    }
    return out;
  }

  void blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t'))
      rest_.remove_prefix(1);
  }
  std::string name() {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_name_byte);
    std::string out{rest_.begin(), end};
    rest_.remove_prefix(out.size());
    return out;
  }
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  Error fault(std::string_view what) const {
    return {
        Errc::kParse,
        fmt::format(
            "selector '{}': at byte {}: {}", shown(all_), all_.size() - rest_.size() + 1, what)};
  }

  std::string_view all_, rest_;
};

std::vector<std::string_view> label_names_of(const MetricKind* kind) {
  std::vector<std::string_view> out;
  if (kind != nullptr) return {kind->labels().begin(), kind->labels().end()};
  for (const auto& k : metric_kinds()) {
    for (const auto label : k.labels()) {
      if (std::find(out.begin(), out.end(), label) == out.end()) out.push_back(label);
    }
  }
  return out;
}

}  // namespace

MetricLabels labels_of(std::string_view kind, std::string_view owner) {
  MetricLabels out;
  const auto* known = find_metric_kind(kind);
  auto values = known != nullptr ? label_values(*known, owner) : std::nullopt;
  if (!values) {
    if (!owner.empty()) out.emplace_back(kOwnerLabel, owner);
    return out;
  }
  for (std::size_t i = 0; i < values->size(); ++i)
    out.emplace_back(known->labels()[i], std::move((*values)[i]));
  return out;
}

bool MetricSelector::selects(std::string_view kind, std::string_view owner) const {
  if (!metric.empty() && metric != kind) return false;
  if (matches.empty()) return true;
  const auto labels = labels_of(kind, owner);
  return std::all_of(matches.begin(), matches.end(), [&](const Match& m) {
    const auto at = std::find_if(
        labels.begin(), labels.end(), [&](const auto& label) { return label.first == m.label; });
    const std::string_view value = at == labels.end() ? std::string_view{} : at->second;
    return (value == m.value) == m.equal;
  });
}

std::string quoted_label(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string MetricSelector::text() const {
  std::string out = metric;
  if (matches.empty()) return out;
  out += '{';
  for (std::size_t i = 0; i < matches.size(); ++i) {
    const auto& m = matches[i];
    if (i != 0) out += ',';
    out += m.label + (m.equal ? "=" : "!=") + quoted_label(m.value);
  }
  return out + '}';
}

Result<MetricSelector> parse_selector(std::string_view text) {
  if (text.size() > kMaxText)
    return Error{Errc::kParse,
                 fmt::format("selector of {} bytes: expected at most {}", text.size(), kMaxText)};
  return Reader{text}.read();
}

Result<void> check_names(const MetricSelector& selector) {
  const MetricKind* kind = nullptr;
  if (!selector.metric.empty()) {
    kind = find_metric_kind(selector.metric);
    if (kind == nullptr) {
      const auto near = near_metric_names(selector.metric);
      return Error{Errc::kNotFound,
                   fmt::format("metric '{}': unknown{}",
                               shown(selector.metric),
                               near.empty() ? "; `koordlet query` lists the metrics"
                                            : suggestion_text(near))};
    }
  }
  const auto labels = label_names_of(kind);
  for (const auto& m : selector.matches) {
    if (std::find(labels.begin(), labels.end(), m.label) != labels.end()) continue;
    if (kind == nullptr) {
      return Error{Errc::kNotFound,
                   fmt::format("label '{}': no metric has it{}",
                               shown(m.label),
                               suggestion_text(near_names(m.label, labels)))};
    }
    return Error{
        Errc::kNotFound,
        labels.empty()
            ? fmt::format("label '{}': metric {} has no labels", shown(m.label), kind->name)
            : fmt::format("label '{}': metric {} has {}{}",
                          shown(m.label),
                          kind->name,
                          fmt::join(labels, ", "),
                          suggestion_text(near_names(m.label, labels)))};
  }
  return {};
}

}  // namespace koordlet
