#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "k8s/api_access.hpp"

namespace koordlet::k8s {

struct ApiCall {
  std::string method = "GET";
  std::string path;         ///< "/api/v1/nodes/n1", escaped where needed
  std::string query;        ///< without '?', escaped
  boost::json::value body;  ///< null: none
  std::string content_type = "application/json";
  /// False: 429 and 503 come back at once. For calls that must not be made again later without
  /// being thought over (evictions).
  bool wait_out_retry_after = true;
};

/// Any answer of the server, whatever its status.
struct ApiAnswer {
  unsigned status = 0;
  /// Null when the answer has none. A refusal that is not JSON: its first bytes as text.
  boost::json::value body;
  std::optional<std::chrono::seconds> retry_after;
  bool ok() const { return status >= 200 && status < 300; }
  /// For a refusal: "409 Conflict (reason AlreadyExists): message", cut to 300 bytes, printable.
  std::string problem() const;
  std::string reason() const;  ///< Status.reason, "" when absent
};

/// JSON over HTTPS to one API server with the credentials of `access`. Token file: read again each
/// minute, and once more at once on 401, then the call is repeated once if the token is another
/// one. Every call is bounded in time. Calls after 429 or 503 with Retry-After wait it out when it
/// is at most `max_retry_after`, once; else the answer is returned. Errors: those of HttpClient;
/// kDenied: no usable token file, or a token that would have to go out without TLS; kParse: the
/// body of a 2xx is not JSON (an HTML page of a proxy, truncated, not UTF-8), with status and the
/// first bytes; kInvalid: a path that is not escaped. No token ever shows in an error. Large bodies
/// are parsed in slices. Must outlive its calls.
class ApiClient {
 public:
  struct Options {
    net::HttpClient::Limits http;
    std::chrono::seconds token_reread{60};
    std::chrono::seconds max_retry_after{10};
    std::string user_agent = "koordlet";
  };
  struct Health {
    std::string fault;  ///< of the last call, or of the files; "" after a good one
    MonoTime last_ok;   ///< any answer but 401
    std::uint64_t calls = 0, failures = 0, unauthorized = 0, throttled = 0, forbidden = 0;
    std::optional<std::chrono::milliseconds> clock_skew;  ///< server's Date - ours, shown only
  };

  ApiClient(boost::asio::any_io_executor ex, ApiAccess access, Options options, const Clock& clock);
  ~ApiClient();
  /// Reads CA and client certificate; again whenever their content has changed on disk (looked at
  /// with the token).
  Result<void> open();

  boost::asio::awaitable<Result<ApiAnswer>> call(ApiCall call);
  /// Head of a GET whose body is read in pieces (lists and watches). The stream's status may be
  /// any.
  boost::asio::awaitable<Result<std::unique_ptr<net::HttpStream>>> open_stream(std::string path,
                                                                               std::string query);
  const Health& health() const;
  /// Takes the bearer token, whole or cut, out of text that came from the server: some servers show
  /// a request's headers when they refuse it.
  void hide_token(std::string& text) const;
  const std::string& server() const;  ///< "https://127.0.0.1:6443", for messages

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Percent-escapes all but unreserved characters (RFC 3986), for names and selectors in a query.
std::string escape(std::string_view text);

}  // namespace koordlet::k8s
