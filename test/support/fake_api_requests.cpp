#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "reactor/task_group.hpp"
#include "support/fake_api_state.hpp"

namespace koordlet::test {
namespace asio = boost::asio;
namespace json = boost::json;
using reactor::use_ec;
using State = FakeApiServer::State;
using Query = std::map<std::string, std::string>;

FakeApiWatcher::FakeApiWatcher(State& s) : state{s}, news{s.ex} { state.watchers.insert(this); }
FakeApiWatcher::~FakeApiWatcher() { state.watchers.erase(this); }

void State::wake() {
  for (auto* watcher : watchers) watcher->news.cancel();
}

asio::awaitable<bool> answer_and_handle(FakeConnection& connection, FakeAnswer answer) {
  co_await connection.answer(std::move(answer));
  co_return true;
}

namespace {

FakeAnswer too_large(std::int64_t asked, std::int64_t current) {
  const auto message = "Too large resource version: " + std::to_string(asked) +
                       ", current: " + std::to_string(current);
  auto body = json::parse(api_status(504, "Timeout", message).body);
  body.as_object()["details"] =
      json::parse(R"({"causes":[{"reason":"ResourceVersionTooLarge"}],"retryAfterSeconds":0})");
  return FakeAnswer{504, json::serialize(body)};
}

std::string line_of(std::string_view type, const json::value& object) {
  return api_event(type, json::serialize(object));
}

std::string query_text(const Query& query, const std::string& key) {
  const auto found = query.find(key);
  return found == query.end() ? std::string{} : found->second;
}

FakeAnswer list_page(State& state, const FakeApiPath& path, const Query& query) {
  State::Rest rest;
  const auto token = query_text(query, "continue");
  if (token.empty()) {
    rest.version = state.store.version();
    rest.items = state.store.select(path.collection, path.ns, query_text(query, "fieldSelector"));
  } else {
    const auto found = state.continued.find(token);
    if (found == state.continued.end()) {
      return api_status(410, "Expired", "The provided continue parameter is too old");
    }
    rest = found->second;
  }
  const auto limit_text = query_text(query, "limit");
  const auto limit = limit_text.empty() ? rest.items.size() : std::stoul(limit_text);
  const auto count = limit == 0 ? rest.items.size() : std::min(limit, rest.items.size());
  json::object metadata;
  metadata["resourceVersion"] = std::to_string(rest.version);
  json::array items;
  for (std::size_t i = 0; i < count; ++i) {
    items.push_back(rest.items[i]);
    items.back().as_object().erase("kind");
    items.back().as_object().erase("apiVersion");
  }
  rest.items.erase(rest.items.begin(), rest.items.begin() + static_cast<std::ptrdiff_t>(count));
  if (!rest.items.empty()) {
    const auto next = "token/" + std::to_string(state.next_token++) + "=";
    metadata["continue"] = next;
    state.continued[next] = std::move(rest);
  }
  json::object list;
  list["kind"] = state.store.kind(path.collection) + "List";
  list["apiVersion"] = FakeApiStore::api_version(path.collection);
  list["metadata"] = std::move(metadata);
  list["items"] = std::move(items);
  return FakeAnswer{200, json::serialize(list)};
}

asio::awaitable<void> watch(std::shared_ptr<State> state,
                            FakeApiPath path,
                            Query query,
                            FakeConnection& connection) {
  const auto from_text = query_text(query, "resourceVersion");
  std::int64_t from = from_text.empty() ? state->store.version() : std::stoll(from_text);
  if (from > state->store.version()) {
    auto refusal = too_large(from, state->store.version());
    co_await connection.answer(std::move(refusal));
    co_return;
  }
  FakeAnswer head;
  co_await connection.start_chunks(std::move(head));
  if (from < state->store.oldest()) {
    const auto gone = api_status(410, "Expired", "too old resource version");
    auto line = api_event("ERROR", gone.body);
    co_await connection.write_chunk(std::move(line));
    co_await connection.end_chunks();
    co_return;
  }
  const auto timeout_text = query_text(query, "timeoutSeconds");
  const auto timeout = std::chrono::seconds{timeout_text.empty() ? 3600 : std::stol(timeout_text)};
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const auto selector = query_text(query, "fieldSelector");
  int bookmarks = state->bookmarks;
  FakeApiWatcher watcher{*state};
  bool open = true;
  while (open && !watcher.ended && std::chrono::steady_clock::now() < deadline) {
    std::string lines;
    for (const auto& event : state->store.history()) {
      if (event.version <= from) continue;
      from = event.version;
      if (event.collection != path.collection) continue;
      if (FakeApiStore::matches(event.object, selector)) lines += line_of(event.type, event.object);
    }
    if (bookmarks != state->bookmarks) {
      bookmarks = state->bookmarks;
      from = std::max(from, state->store.version());
      json::object metadata;
      metadata["resourceVersion"] = std::to_string(from);
      json::object mark;
      mark["kind"] = state->store.kind(path.collection);
      mark["metadata"] = std::move(metadata);
      lines += line_of("BOOKMARK", std::move(mark));
    }
    if (!lines.empty()) {
      open = co_await connection.write_chunk(std::move(lines));
      continue;
    }
    watcher.news.expires_at(deadline);
    co_await watcher.news.async_wait(use_ec);
  }
  if (open) co_await connection.end_chunks();
}

FakeAnswer write_one(State& state, const FakeApiPath& path, const FakeRequest& request) {
  const json::value* found = state.store.find(path.collection, path.ns, path.name);
  if (found == nullptr) return api_status(404, "NotFound", path.name + " not found");
  json::value old = *found;
  auto body = json::parse(request.body);
  auto& metadata = old.as_object()["metadata"].as_object();
  const auto* given = body.as_object().if_contains("metadata");
  const auto* version =
      given != nullptr ? given->as_object().if_contains("resourceVersion") : nullptr;
  if (version != nullptr && *version != metadata["resourceVersion"]) {
    return api_status(409, "Conflict", "the object has been modified");
  }
  json::value next = old;
  if (request.method == "PATCH") {
    merge_patch(next, body);
  } else {
    next = body;
    next.as_object()["metadata"].as_object()["uid"] = metadata["uid"];
  }
  // The subresource changes nothing but status, and the object itself everything but that.
  auto& kept = path.sub == "status" ? old : next;
  const auto& source = path.sub == "status" ? next : old;
  const auto* status = source.as_object().if_contains("status");
  if (status != nullptr) {
    json::value copy = *status;
    kept.as_object()["status"] = std::move(copy);
  } else {
    kept.as_object().erase("status");
  }
  const auto& stored = state.store.put(path.collection, kept);
  return FakeAnswer{200, json::serialize(stored)};
}

FakeAnswer create_one(State& state, const FakeApiPath& path, const FakeRequest& request) {
  auto body = json::parse(request.body);
  auto& metadata = body.as_object()["metadata"].as_object();
  if (!path.ns.empty()) metadata["namespace"] = path.ns;
  const auto* generate = metadata.if_contains("generateName");
  if (!metadata.contains("name") && generate != nullptr) {
    metadata["name"] = std::string{generate->as_string()} + std::to_string(state.next_token++);
  }
  if (!metadata.contains("name")) return api_status(422, "Invalid", "metadata.name: required");
  const std::string name{metadata["name"].as_string()};
  if (state.store.find(path.collection, path.ns, name) != nullptr) {
    return api_status(409, "AlreadyExists", name + " already exists");
  }
  const auto& stored = state.store.put(path.collection, std::move(body));
  return FakeAnswer{201, json::serialize(stored)};
}

FakeAnswer one(State& state, const FakeApiPath& path, const FakeRequest& request) {
  const auto& method = request.method;
  if (method == "POST" && path.name.empty()) return create_one(state, path, request);
  const json::value* found = state.store.find(path.collection, path.ns, path.name);
  if (found == nullptr) return api_status(404, "NotFound", path.name + " not found");
  if (method == "GET") return FakeAnswer{200, json::serialize(*found)};
  if (method == "PUT" || method == "PATCH") return write_one(state, path, request);
  const bool evicts = method == "POST" && path.sub == "eviction";
  if (method != "DELETE" && !evicts) return api_status(405, "MethodNotAllowed", method);
  state.store.erase(path.collection, path.ns, path.name);
  return api_status(evicts ? 201 : 200, "", "");
}

asio::awaitable<void> serve_default(std::shared_ptr<State> state, FakeConnection& connection) {
  const auto request = connection.request();
  const auto mark = request.target.find('?');
  const auto path = parse_api_path(std::string_view{request.target}.substr(0, mark));
  const auto query = mark == std::string::npos
                         ? Query{}
                         : parse_api_query(std::string_view{request.target}.substr(mark + 1));
  FakeAnswer answer{404, "404 page not found\n", "text/plain; charset=utf-8"};
  if (path && state->store.serves(path->collection)) {
    const auto watching = query_text(query, "watch");
    const bool collection = path->name.empty() && request.method == "GET";
    if (collection && (watching == "1" || watching == "true")) {
      co_await watch(state, *path, query, connection);
      co_return;
    }
    answer = collection ? list_page(*state, *path, query) : one(*state, *path, request);
    state->wake();
  }
  co_await connection.answer(std::move(answer));
}

}  // namespace

asio::awaitable<void> serve_api(std::shared_ptr<State> state, FakeConnection& connection) {
  const auto request = connection.request();
  if (!state->token.empty() && request.header("Authorization") != "Bearer " + state->token) {
    auto refusal = api_status(401, "Unauthorized", "Unauthorized");
    co_await connection.answer(std::move(refusal));
    co_return;
  }
  const auto rules = state->rules;  // a handler may add others
  for (const auto& rule : rules) {
    const bool fits = (rule->method.empty() || rule->method == request.method) &&
                      request.target.starts_with(rule->prefix);
    if (!fits || rule->times == 0) continue;
    // Counted before it runs: a watch may be asked for again while this one is still open.
    const bool counts = rule->times > 0;
    if (counts) --rule->times;
    const bool handled = co_await rule->handler(connection);
    if (handled) co_return;
    if (counts) ++rule->times;
  }
  co_await serve_default(state, connection);
}

}  // namespace koordlet::test
