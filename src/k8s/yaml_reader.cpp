#include "k8s/yaml_reader.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace koordlet::k8s {
namespace {

namespace json = boost::json;

/// Leaves the parser from inside an event.
struct Refused : std::runtime_error {
  Refused(const YAML::Mark& mark, const std::string& problem)
      : std::runtime_error{fmt::format("line {}: {}", mark.line + 1, problem)} {}
};

/// Builds JSON from the parser's events, counting while it reads: nothing is expanded first and
/// measured later.
class Builder final : public YAML::EventHandler {
 public:
  std::vector<json::value> take() { return std::move(documents_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    // Before a token that can start no node, yaml-cpp makes empty documents for ever.
    if (mark.pos == last_start_) throw Refused{mark, "unexpected text"};
    last_start_ = mark.pos;
    anchors_.clear();
    frames_.clear();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    finish(mark, nullptr, anchor, 1, {});
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      throw Refused{mark, "alias of a node that is not complete or too large"};
    copied_ += found->second.nodes;
    if (copied_ > kMaxAliasNodes) {
      throw Refused{mark, fmt::format("aliases expand to more than {} nodes", kMaxAliasNodes)};
    }
    if (frames_.size() + static_cast<std::size_t>(found->second.height) > kMaxDepth) too_deep(mark);
    finish(mark, found->second.value, 0, found->second.nodes, {}, found->second.height);
  }

  void OnScalar(const YAML::Mark& mark,
                const std::string& tag,
                YAML::anchor_t anchor,
                const std::string& text) override {
    // yaml-cpp says "?" for a plain scalar and "!" for a quoted one.
    const bool plain = tag == "?";
    finish(mark, scalar(mark, tag, text), anchor, 1, text, 0, plain);
  }

  void OnSequenceStart(const YAML::Mark& mark,
                       const std::string& tag,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_collection_tag(mark, tag, "tag:yaml.org,2002:seq");
    open(mark, json::array{}, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check_collection_tag(mark, tag, "tag:yaml.org,2002:map");
    open(mark, json::object{}, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    YAML::Mark mark;
    json::value value;
    YAML::anchor_t anchor = 0;
    std::size_t nodes = 1;
    int height = 1;                  // containers on the longest way down, this one included
    std::optional<std::string> key;  // of the value that comes next
    bool merge = false;              // the key was an unquoted <<
    std::vector<json::value> merged;
  };
  struct Anchored {
    json::value value;
    std::size_t nodes = 0;
    int height = 0;
  };

  [[noreturn]] static void too_deep(const YAML::Mark& mark) {
    throw Refused{mark, fmt::format("nested deeper than {}", kMaxDepth)};
  }

  static void check_collection_tag(const YAML::Mark& mark,
                                   const std::string& tag,
                                   std::string_view core) {
    if (tag != "?" && tag != "!" && !tag.empty() && tag != core) {
      throw Refused{mark, fmt::format("tag {} is not supported", tag)};
    }
  }

  static json::value scalar(const YAML::Mark& mark,
                            const std::string& tag,
                            const std::string& text) {
    constexpr std::string_view kCore = "tag:yaml.org,2002:";
    if (tag == "?" || tag.empty()) return resolve_scalar(text);
    if (tag == "!" || tag == "tag:yaml.org,2002:str") return json::value(text);
    const std::string_view rest = std::string_view{tag}.substr(std::min(kCore.size(), tag.size()));
    if (tag.starts_with(kCore) &&
        (rest == "int" || rest == "float" || rest == "bool" || rest == "null")) {
      return resolve_scalar(text);
    }
    throw Refused{mark, fmt::format("tag {} is not supported", tag)};
  }

  void open(const YAML::Mark& mark, json::value empty, YAML::anchor_t anchor) {
    if (frames_.size() >= kMaxDepth) too_deep(mark);
    if (waits_for_key()) throw Refused{mark, "expected text as a key"};
    Frame& frame = frames_.emplace_back();
    frame.mark = mark;
    frame.value = std::move(empty);
    frame.anchor = anchor;
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    for (auto& source : frame.merged) merge(frame.mark, frame.value.get_object(), source);
    finish(frame.mark, std::move(frame.value), frame.anchor, frame.nodes, {}, frame.height);
  }

  bool waits_for_key() const {
    return !frames_.empty() && frames_.back().value.is_object() && !frames_.back().key;
  }

  /// One complete node: key, value, element or document.
  void finish(const YAML::Mark& mark,
              json::value value,
              YAML::anchor_t anchor,
              std::size_t nodes,
              std::string text,
              int height = 0,
              bool plain = false) {
    if (anchor != 0) remember(mark, anchor, value, nodes, height);
    if (frames_.empty()) {
      if (!value.is_null()) documents_.push_back(std::move(value));
      return;
    }
    Frame& frame = frames_.back();
    frame.nodes += nodes;
    frame.height = std::max(frame.height, height + 1);
    if (frame.value.is_array()) {
      frame.value.get_array().push_back(std::move(value));
    } else if (!frame.key) {
      set_key(mark, frame, value, std::move(text), plain);
    } else if (frame.merge) {
      frame.merged.push_back(std::move(value));
      frame.key.reset();
      frame.merge = false;
    } else {
      frame.value.get_object().emplace(*frame.key, std::move(value));
      frame.key.reset();
    }
  }

  static void set_key(const YAML::Mark& mark,
                      Frame& frame,
                      const json::value& value,
                      std::string text,
                      bool plain) {
    if (value.is_null() || value.is_object() || value.is_array()) {
      throw Refused{mark, "expected text as a key"};
    }
    // The key of a scalar is its text as written; that of an alias is the text it stands for.
    std::string key = value.is_string() ? std::string{value.get_string()} : std::move(text);
    frame.merge = plain && key == "<<";
    if (!frame.merge && frame.value.get_object().contains(key)) {
      throw Refused{mark, fmt::format("key '{}' stands twice", key.substr(0, 60))};
    }
    frame.key = std::move(key);
  }

  /// "<<: *base": the keys of the map itself win, and earlier sources before later ones.
  static void merge(const YAML::Mark& mark, json::object& into, json::value& source) {
    if (source.is_object()) {
      for (auto& member : source.get_object())
        into.emplace(member.key(), std::move(member.value()));
      return;
    }
    if (!source.is_array()) throw Refused{mark, "expected a map after <<"};
    for (auto& part : source.get_array()) {
      if (!part.is_object()) throw Refused{mark, "expected maps after <<"};
      merge(mark, into, part);
    }
  }

  /// A node too large for any alias is not kept: keeping costs a copy at each level of nesting.
  void remember(const YAML::Mark& mark,
                YAML::anchor_t anchor,
                const json::value& value,
                std::size_t nodes,
                int height) {
    if (nodes > kMaxAliasNodes) return;
    kept_ += nodes;
    if (kept_ > 100 * kMaxAliasNodes) throw Refused{mark, "too many anchors"};
    anchors_[anchor] = Anchored{value, nodes, height};
  }

  std::vector<json::value> documents_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  int last_start_ = -1;  // position of the document before
  std::size_t copied_ = 0;
  std::size_t kept_ = 0;
};

}  // namespace

Result<std::vector<json::value>> read_yaml(const std::string& text) {
  try {
    std::istringstream in{text};
    YAML::Parser parser{in};
    Builder builder;
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take();
  } catch (const YAML::Exception& e) {
    return Error{Errc::kParse, fmt::format("line {}: {}", e.mark.line + 1, e.msg)};
  } catch (const Refused& e) {
    return Error{Errc::kParse, e.what()};
  } catch (const std::exception& e) {
    return Error{Errc::kParse, fmt::format("not readable as YAML: {}", e.what())};
  }
}

}  // namespace koordlet::k8s
