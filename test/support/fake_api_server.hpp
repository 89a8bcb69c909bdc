#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>

#include "support/fake_api_store.hpp"
#include "support/fake_http_server.hpp"

namespace koordlet::test {

/// An API server in memory, on the caller's loop: LIST in pages with continue tokens, WATCH with
/// history and bookmarks, GET, POST, PUT (409 on another resourceVersion), PATCH (merge), DELETE,
/// the status subresource, POST .../eviction (deletes the pod, 201). Everything else is 404 in
/// plain text, like a path no real server knows. Faults are put before it with on() and answer().
///
///   FakeApiServer api{io.get_executor(), FakeHttpServer::Tls{ca.server()}};
///   api.serve("/api/v1/pods", "Pod");
///   api.put("/api/v1/pods", R"({"metadata":{"name":"p","namespace":"d"}})");
///   api.answer("PUT", "/apis/slo.koordinator.sh", api_status(409, "Conflict", "changed"));  //
///   once
class FakeApiServer {
 public:
  /// A script before the default behaviour; false: it did nothing, the next one is asked.
  using Handler = std::function<boost::asio::awaitable<bool>(FakeConnection&)>;
  static constexpr int kAlways = -1;

  explicit FakeApiServer(boost::asio::any_io_executor ex,
                         std::optional<FakeHttpServer::Tls> tls = {});
  ~FakeApiServer();

  void serve(const std::string& collection, const std::string& kind);
  void put(const std::string& collection, std::string_view object);  ///< JSON text; tells watches
  void put(const std::string& collection, boost::json::value object);
  bool erase(const std::string& collection, const std::string& ns, const std::string& name);
  FakeApiStore& store();  ///< to look at it, and for compact()

  /// For requests whose method is that ("" for any) and whose target starts with that; the newest
  /// handler is asked first. `times` counts requests that it handled.
  void on(std::string method, std::string prefix, Handler handler, int times = kAlways);
  /// The same for WATCH and LIST requests of a collection only.
  void on_watch(std::string collection, Handler handler, int times = kAlways);
  void on_list(std::string collection, Handler handler, int times = kAlways);
  void answer(std::string method, std::string prefix, FakeAnswer answer, int times = 1);
  void answer_watch(std::string collection, FakeAnswer answer, int times = 1);
  void answer_list(std::string collection, FakeAnswer answer, int times = 1);
  void clear_handlers();

  /// Requests without this bearer token get 401; "" asks for none.
  void set_token(std::string token);
  void bookmark();               ///< a BOOKMARK with the current version to every watch
  void end_watches();            ///< clean end of every watch, as after timeoutSeconds
  void forget_continues();       ///< continue tokens handed out so far are 410 from now on
  std::size_t watching() const;  ///< open default watches
  void stop();                   ///< refuses and resets connections, as a server that goes down
  void start();                  ///< on the same port
  FakeHttpServer& http();
  /// Requests so far whose method is that and whose target starts with that.
  int count(std::string_view method, std::string_view prefix) const;
  int lists(std::string_view collection) const;  ///< pages, to be exact
  int watches(std::string_view collection) const;

  struct State;

 private:
  std::shared_ptr<State> state_;
  std::unique_ptr<FakeHttpServer> http_;
};

/// An answer with a Status object.
FakeAnswer api_status(unsigned code, const std::string& reason, const std::string& message);
/// One line of a watch, with its end. `object` is JSON text.
std::string api_event(std::string_view type, std::string_view object);

}  // namespace koordlet::test
