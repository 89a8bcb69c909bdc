#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "support/fake_api_server.hpp"

namespace koordlet::test {

struct FakeApiRule {
  std::string method, prefix;
  FakeApiServer::Handler handler;
  int times;
};

/// One open watch; lives in its coroutine.
struct FakeApiWatcher {
  explicit FakeApiWatcher(FakeApiServer::State& state);
  ~FakeApiWatcher();
  FakeApiServer::State& state;
  boost::asio::steady_timer news;
  bool ended = false;
};

/// Shared by the server and the requests in work, which may outlive it.
struct FakeApiServer::State {
  explicit State(boost::asio::any_io_executor e) : ex{std::move(e)} {}
  void wake();

  boost::asio::any_io_executor ex;
  FakeApiStore store;
  std::deque<std::shared_ptr<FakeApiRule>> rules;
  std::set<FakeApiWatcher*> watchers;
  std::string token;
  int bookmarks = 0;
  struct Rest {
    std::int64_t version;
    std::vector<boost::json::value> items;
  };
  std::map<std::string, Rest> continued;  ///< by continue token
  int next_token = 1;
};

boost::asio::awaitable<void> serve_api(std::shared_ptr<FakeApiServer::State> state,
                                       FakeConnection& connection);
boost::asio::awaitable<bool> answer_and_handle(FakeConnection& connection, FakeAnswer answer);

}  // namespace koordlet::test
