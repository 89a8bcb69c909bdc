#include "support/fake_api_store.hpp"

#include <stdexcept>
#include <utility>

namespace koordlet::test {
namespace json = boost::json;
namespace {

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> out;
  while (true) {
    const auto end = text.find(by);
    out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::string decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out.push_back(static_cast<char>(std::stoi(std::string{text.substr(i + 1, 2)}, nullptr, 16)));
      i += 2;
    } else {
      out.push_back(text[i] == '+' ? ' ' : text[i]);
    }
  }
  return out;
}

std::string text_at(const json::value& object, std::string_view dotted) {
  const json::value* at = &object;
  for (const auto& key : split(dotted, '.')) {
    if (!at->is_object()) return {};
    at = at->get_object().if_contains(key);
    if (at == nullptr) return {};
  }
  return at->is_string() ? std::string{at->get_string()} : std::string{};
}

}  // namespace

std::optional<FakeApiPath> parse_api_path(std::string_view path) {
  if (!path.starts_with('/')) return std::nullopt;
  const auto parts = split(path.substr(1), '/');
  const std::size_t prefix = parts[0] == "api" ? 2 : parts[0] == "apis" ? 3 : 0;
  if (prefix == 0 || parts.size() <= prefix) return std::nullopt;
  FakeApiPath out;
  for (std::size_t i = 0; i < prefix; ++i) out.collection += "/" + parts[i];
  std::size_t at = prefix;
  if (parts[at] == "namespaces" && parts.size() >= at + 3) {
    out.ns = decode(parts[at + 1]);
    at += 2;
  }
  out.collection += "/" + parts[at++];
  if (at < parts.size()) out.name = decode(parts[at++]);
  if (at < parts.size()) out.sub = parts[at++];
  if (at < parts.size()) return std::nullopt;
  return out;
}

std::map<std::string, std::string> parse_api_query(std::string_view query) {
  std::map<std::string, std::string> out;
  for (const auto& part : split(query, '&')) {
    const auto equal = part.find('=');
    const auto value = equal == std::string::npos ? "" : part.substr(equal + 1);
    if (!part.empty()) out[decode(part.substr(0, equal))] = decode(value);
  }
  return out;
}

void FakeApiStore::serve(const std::string& collection, const std::string& kind) {
  kinds_[collection] = kind;
}

std::string FakeApiStore::api_version(const std::string& collection) {
  const auto parts = split(std::string_view{collection}.substr(1), '/');
  return parts[0] == "api" ? parts[1] : parts[1] + "/" + parts[2];
}

const json::value& FakeApiStore::put(const std::string& collection, json::value object) {
  if (!serves(collection)) throw std::invalid_argument{"not served: " + collection};
  auto& members = object.as_object();
  members["apiVersion"] = api_version(collection);
  members["kind"] = kind(collection);
  auto& metadata = members["metadata"].as_object();
  const auto name = text_at(object, "metadata.name");
  if (!metadata.contains("uid")) metadata["uid"] = "uid-" + name;
  metadata["resourceVersion"] = std::to_string(++version_);
  auto& slot = objects_[collection];
  const Key key{text_at(object, "metadata.namespace"), name};
  const bool fresh = slot.count(key) == 0;
  history_.push_back({version_, collection, fresh ? "ADDED" : "MODIFIED", object});
  return slot.insert_or_assign(key, std::move(object)).first->second;
}

bool FakeApiStore::erase(const std::string& collection,
                         const std::string& ns,
                         const std::string& name) {
  auto& slot = objects_[collection];
  const auto found = slot.find({ns, name});
  if (found == slot.end()) return false;
  auto object = std::move(found->second);
  slot.erase(found);
  object.as_object()["metadata"].as_object()["resourceVersion"] = std::to_string(++version_);
  history_.push_back({version_, collection, "DELETED", std::move(object)});
  return true;
}

const json::value* FakeApiStore::find(const std::string& collection,
                                      const std::string& ns,
                                      const std::string& name) const {
  const auto slot = objects_.find(collection);
  if (slot == objects_.end()) return nullptr;
  const auto found = slot->second.find({ns, name});
  return found == slot->second.end() ? nullptr : &found->second;
}

std::vector<json::value> FakeApiStore::select(const std::string& collection,
                                              const std::string& ns,
                                              const std::string& field_selector) const {
  std::vector<json::value> out;
  const auto slot = objects_.find(collection);
  if (slot == objects_.end()) return out;
  for (const auto& [key, object] : slot->second) {
    if ((ns.empty() || key.first == ns) && matches(object, field_selector)) out.push_back(object);
  }
  return out;
}

bool FakeApiStore::matches(const json::value& object, const std::string& field_selector) {
  if (field_selector.empty()) return true;
  for (const auto& term : split(field_selector, ',')) {
    const auto equal = term.find('=');
    if (equal == std::string::npos) throw std::invalid_argument{"fieldSelector: " + term};
    if (text_at(object, term.substr(0, equal)) != term.substr(equal + 1)) return false;
  }
  return true;
}

void FakeApiStore::compact() {
  history_.clear();
  oldest_ = version_;
}

void merge_patch(json::value& target, const json::value& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = json::object{};
  auto& members = target.get_object();
  for (const auto& member : patch.get_object()) {
    if (member.value().is_null()) {
      members.erase(member.key());
    } else {
      merge_patch(members[member.key()], member.value());
    }
  }
}

}  // namespace koordlet::test
