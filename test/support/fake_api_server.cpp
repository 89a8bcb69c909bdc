#include "support/fake_api_server.hpp"

#include <algorithm>
#include <list>
#include <set>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "support/fake_api_state.hpp"

namespace koordlet::test {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

bool is_watch(const FakeRequest& request) {
  const auto mark = request.target.find('?');
  if (mark == std::string::npos) return false;
  const auto query = parse_api_query(std::string_view{request.target}.substr(mark + 1));
  const auto watch = query.find("watch");
  return watch != query.end() && (watch->second == "1" || watch->second == "true");
}

bool is_of(const FakeRequest& request, std::string_view collection, bool watch) {
  return request.method == "GET" && request.target.starts_with(collection) &&
         is_watch(request) == watch;
}

FakeApiServer::Handler answering(FakeAnswer answer) {
  return [answer = std::move(answer)](FakeConnection& connection) {
    return answer_and_handle(connection, answer);
  };
}

asio::awaitable<bool> only_if(bool matches, FakeApiServer::Handler handler, FakeConnection& c) {
  if (!matches) co_return false;
  const bool handled = co_await handler(c);
  co_return handled;
}

FakeApiServer::Handler filtered(std::string collection,
                                bool watch,
                                FakeApiServer::Handler handler) {
  return
      [collection = std::move(collection), watch, handler = std::move(handler)](FakeConnection& c) {
        return only_if(is_of(c.request(), collection, watch), handler, c);
      };
}

}  // namespace

FakeApiServer::FakeApiServer(asio::any_io_executor ex, std::optional<FakeHttpServer::Tls> tls)
    : state_{std::make_shared<State>(ex)} {
  http_ = std::make_unique<FakeHttpServer>(
      ex, [state = state_](FakeConnection& c) { return serve_api(state, c); }, std::move(tls));
}

FakeApiServer::~FakeApiServer() { end_watches(); }

void FakeApiServer::serve(const std::string& collection, const std::string& kind) {
  state_->store.serve(collection, kind);
}

void FakeApiServer::put(const std::string& collection, std::string_view object) {
  put(collection, json::parse(object));
}

void FakeApiServer::put(const std::string& collection, json::value object) {
  state_->store.put(collection, std::move(object));
  state_->wake();
}

bool FakeApiServer::erase(const std::string& collection,
                          const std::string& ns,
                          const std::string& name) {
  const bool done = state_->store.erase(collection, ns, name);
  state_->wake();
  return done;
}

FakeApiStore& FakeApiServer::store() { return state_->store; }

void FakeApiServer::on(std::string method, std::string prefix, Handler handler, int times) {
  state_->rules.push_front(std::make_shared<FakeApiRule>(
      FakeApiRule{std::move(method), std::move(prefix), std::move(handler), times}));
}

void FakeApiServer::on_watch(std::string collection, Handler handler, int times) {
  auto prefix = collection;
  on("GET", std::move(prefix), filtered(std::move(collection), true, std::move(handler)), times);
}

void FakeApiServer::on_list(std::string collection, Handler handler, int times) {
  auto prefix = collection;
  on("GET", std::move(prefix), filtered(std::move(collection), false, std::move(handler)), times);
}

void FakeApiServer::answer(std::string method, std::string prefix, FakeAnswer answer, int times) {
  on(std::move(method), std::move(prefix), answering(std::move(answer)), times);
}

void FakeApiServer::answer_watch(std::string collection, FakeAnswer answer, int times) {
  on_watch(std::move(collection), answering(std::move(answer)), times);
}

void FakeApiServer::answer_list(std::string collection, FakeAnswer answer, int times) {
  on_list(std::move(collection), answering(std::move(answer)), times);
}

void FakeApiServer::clear_handlers() { state_->rules.clear(); }

void FakeApiServer::set_token(std::string token) { state_->token = std::move(token); }

void FakeApiServer::bookmark() {
  ++state_->bookmarks;
  state_->wake();
}

void FakeApiServer::end_watches() {
  for (auto* watcher : state_->watchers) watcher->ended = true;
  state_->wake();
}

void FakeApiServer::forget_continues() { state_->continued.clear(); }

std::size_t FakeApiServer::watching() const { return state_->watchers.size(); }

void FakeApiServer::stop() {
  http_->stop_listening();
  http_->drop_connections();
}

void FakeApiServer::start() { http_->listen_again(); }

FakeHttpServer& FakeApiServer::http() { return *http_; }

int FakeApiServer::count(std::string_view method, std::string_view prefix) const {
  const auto& all = http_->requests();
  return static_cast<int>(std::count_if(all.begin(), all.end(), [&](const FakeRequest& request) {
    return request.method == method && request.target.starts_with(prefix);
  }));
}

int FakeApiServer::lists(std::string_view collection) const {
  const auto& all = http_->requests();
  return static_cast<int>(std::count_if(all.begin(), all.end(), [&](const FakeRequest& request) {
    return is_of(request, collection, false);
  }));
}

int FakeApiServer::watches(std::string_view collection) const {
  const auto& all = http_->requests();
  return static_cast<int>(std::count_if(all.begin(), all.end(), [&](const FakeRequest& request) {
    return is_of(request, collection, true);
  }));
}

FakeAnswer api_status(unsigned code, const std::string& reason, const std::string& message) {
  json::object body;
  body["kind"] = "Status";
  body["apiVersion"] = "v1";
  body["status"] = code < 400 ? "Success" : "Failure";
  body["reason"] = reason;
  body["message"] = message;
  body["code"] = code;
  return FakeAnswer{code, json::serialize(body)};
}

std::string api_event(std::string_view type, std::string_view object) {
  std::string out = R"({"type":")";
  out += type;
  out += R"(","object":)";
  out += object;
  return out + "}\n";
}

}  // namespace koordlet::test
