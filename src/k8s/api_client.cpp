#include "k8s/api_client.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "base/parse.hpp"
#include "k8s/paced_json.hpp"
#include "k8s/server_url.hpp"
#include "k8s/token_source.hpp"
#include "reactor/task_group.hpp"

namespace koordlet::k8s {
namespace asio = boost::asio;
using reactor::use_ec;
namespace {

constexpr std::chrono::milliseconds kSlice{1};
constexpr std::size_t kShownBody = 120;

bool is_target(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

bool is_throttle(unsigned status) { return status == 429 || status == 503; }

/// The server could be reached and knows us; whatever it answers to one request is no fault of the
/// connection.
bool is_healthy(unsigned status) {
  return status != 401 && status != 403 && status != 429 && status < 500;
}

bool same(const net::TlsOptions& a, const net::TlsOptions& b) {
  return a.ca_pem == b.ca_pem && a.cert_pem == b.cert_pem && a.key_pem == b.key_pem;
}

std::string status_line(unsigned status) {
  ApiAnswer answer;
  answer.status = status;
  return answer.problem();
}

}  // namespace

struct ApiClient::Impl {
  Impl(asio::any_io_executor ex, ApiAccess a, Options o, const Clock& c)
      : executor{std::move(ex)},
        access{std::move(a)},
        options{std::move(o)},
        clock{c},
        token{access.token_file, access.token},
        server{server_text(access.endpoint, access.base_path)} {}

  Result<void> open();
  Result<void> prepare();
  void look_at_files();
  Result<net::ClientRequest> make_request(const ApiCall& call) const;
  asio::awaitable<Result<ApiAnswer>> call(ApiCall call);
  asio::awaitable<Result<ApiAnswer>> decode(const ApiCall& call, net::ClientResponse response);
  asio::awaitable<Result<std::unique_ptr<net::HttpStream>>> open_stream(ApiCall call);
  asio::awaitable<bool> wait(std::chrono::seconds time);
  void hide(std::string& text) const;
  bool should_wait(const ApiCall& call, const net::ResponseHead& head) const;
  void note_head(const net::ResponseHead& head);
  bool renew_token();
  Error failed(Error error);

  asio::any_io_executor executor;
  ApiAccess access;
  Options options;
  const Clock& clock;
  TokenSource token;
  std::string server;
  Health health;
  net::TlsOptions tls_options;  ///< that the client was made with
  std::unique_ptr<net::HttpClient> client;
  MonoTime looked_at;      ///< when the files were read last
  std::string file_fault;  ///< why what is in the files is not in use
};

Result<void> ApiClient::Impl::open() {
  if (!access.endpoint.tls && !(access.token.empty() && access.token_file.empty())) {
    return Error{Errc::kDenied,
                 fmt::format("{}: a token is never sent without TLS: expected https", server)};
  }
  std::shared_ptr<net::TlsContext> context;
  net::TlsOptions read;
  if (access.endpoint.tls) {
    auto pem = read_tls_options(access);
    if (!pem) return wrap(server, pem.error());
    read = std::move(*pem);
    auto made = net::TlsContext::make(read);
    if (!made) return wrap(server, made.error());
    context = std::move(*made);
  }
  if (auto fresh = token.refresh(); !fresh) return wrap(server, fresh.error());
  looked_at = clock.now();
  file_fault.clear();
  tls_options = std::move(read);
  if (client == nullptr) {
    client = std::make_unique<net::HttpClient>(
        executor, access.endpoint, std::move(context), options.http);
  } else if (context != nullptr) {
    client->set_tls(std::move(context));
  }
  return {};
}

/// Files that cannot be used just now (a rotation is half done) leave what worked before.
void ApiClient::Impl::look_at_files() {
  if (clock.now() - looked_at < options.token_reread) return;
  looked_at = clock.now();
  file_fault.clear();
  if (auto fresh = token.refresh(); !fresh) file_fault = fresh.error().context;
  if (!access.endpoint.tls) return;
  auto read = read_tls_options(access);
  if (!read) {
    file_fault = read.error().context;
    return;
  }
  if (same(*read, tls_options)) return;
  auto context = net::TlsContext::make(*read);
  if (!context) {
    file_fault = context.error().context;
    return;
  }
  tls_options = std::move(*read);
  client->set_tls(std::move(*context));
}

Result<void> ApiClient::Impl::prepare() {
  if (client == nullptr) return open();
  look_at_files();
  return {};
}

Result<net::ClientRequest> ApiClient::Impl::make_request(const ApiCall& call) const {
  net::ClientRequest request;
  request.method = call.method;
  request.target = access.base_path + call.path;
  if (!call.query.empty()) request.target += "?" + call.query;
  if (!call.path.starts_with('/') || !is_target(request.target)) {
    return Error{
        Errc::kInvalid,
        fmt::format(
            "{} {}: the path is not escaped", call.method, printable(call.path, kShownBody))};
  }
  request.headers.emplace_back("Accept", "application/json");
  request.headers.emplace_back("User-Agent", options.user_agent);
  if (!token.token().empty()) {
    request.headers.emplace_back("Authorization", "Bearer " + token.token());
  }
  if (!call.body.is_null()) {
    request.headers.emplace_back("Content-Type", call.content_type);
    request.body = boost::json::serialize(call.body);
  }
  return request;
}

Error ApiClient::Impl::failed(Error error) {
  ++health.failures;
  health.fault = error.context;
  return error;
}

void ApiClient::Impl::note_head(const net::ResponseHead& head) {
  if (head.date) {
    health.clock_skew =
        std::chrono::duration_cast<std::chrono::milliseconds>(*head.date - clock.wall());
  }
  if (head.status == 401) {
    ++health.unauthorized;
  } else {
    health.last_ok = clock.now();
  }
  if (head.status == 403) ++health.forbidden;
  if (head.status == 429) ++health.throttled;
  if (is_healthy(head.status)) {
    health.fault = file_fault;
    return;
  }
  ++health.failures;
  health.fault = fmt::format("{}: {}", server, status_line(head.status));
}

/// The token may have rotated since it was read; with the same one the answer would be the same.
bool ApiClient::Impl::renew_token() {
  const auto fresh = token.refresh();
  file_fault = fresh ? std::string{} : fresh.error().context;
  return fresh && *fresh;
}

asio::awaitable<bool> ApiClient::Impl::wait(std::chrono::seconds time) {
  asio::steady_timer timer{executor, time};
  const auto [ec] = co_await timer.async_wait(use_ec);
  co_return !ec;
}

asio::awaitable<Result<ApiAnswer>> ApiClient::Impl::decode(const ApiCall& call,
                                                           net::ClientResponse response) {
  hide(response.body);
  ApiAnswer answer;
  answer.status = response.head.status;
  answer.retry_after = response.head.retry_after;
  if (!response.body.empty()) {
    Pace pace{executor, clock, kSlice};
    auto body = co_await parse_paced(response.body, pace);
    if (body) {
      answer.body = std::move(*body);
    } else if (answer.ok()) {
      co_return failed(Error{Errc::kParse,
                             fmt::format("{} {}: {}: {}: '{}'",
                                         call.method,
                                         call.path,
                                         status_line(answer.status),
                                         body.error().context,
                                         printable(response.body, kShownBody))});
    } else {
      // Refusals come as plain text too ("404 page not found"): the status is what counts.
      answer.body = boost::json::string(printable(response.body, kShownBody));
    }
  }
  if (!is_healthy(answer.status)) health.fault = fmt::format("{}: {}", server, answer.problem());
  co_return answer;
}

void ApiClient::Impl::hide(std::string& text) const {
  constexpr std::size_t kTell = 16;  // shorter pieces tell nothing, and may be plain words
  const std::string_view whole = token.token();
  if (whole.empty()) return;
  const auto start = whole.substr(0, kTell);
  for (auto at = text.find(start); at != std::string::npos; at = text.find(start, at)) {
    auto n = start.size();
    while (n < whole.size() && at + n < text.size() && text[at + n] == whole[n]) ++n;
    text.replace(at, n, "***");
  }
}

bool ApiClient::Impl::should_wait(const ApiCall& call, const net::ResponseHead& head) const {
  return call.wait_out_retry_after && is_throttle(head.status) && head.retry_after &&
         *head.retry_after <= options.max_retry_after;
}

asio::awaitable<Result<ApiAnswer>> ApiClient::Impl::call(ApiCall call) {
  ++health.calls;
  if (auto ready = prepare(); !ready) co_return failed(ready.error());
  bool renewed = false;
  bool waited = false;
  for (;;) {
    auto request = make_request(call);
    if (!request) co_return request.error();
    auto response = co_await client->request(std::move(*request));
    if (!response) co_return failed(response.error());
    const auto head = response->head;
    note_head(head);
    if (head.status == 401 && !renewed && renew_token()) {
      renewed = true;
      continue;
    }
    if (!waited && should_wait(call, head)) {
      waited = true;
      const bool passed = co_await wait(*head.retry_after);
      if (!passed) co_return failed(Error{Errc::kIo, fmt::format("{}: cancelled", server)});
      continue;
    }
    auto answer = co_await decode(call, std::move(*response));
    co_return answer;
  }
}

asio::awaitable<Result<std::unique_ptr<net::HttpStream>>> ApiClient::Impl::open_stream(
    ApiCall call) {
  ++health.calls;
  if (auto ready = prepare(); !ready) co_return failed(ready.error());
  bool renewed = false;
  for (;;) {
    auto request = make_request(call);
    if (!request) co_return request.error();
    auto stream = co_await client->open(std::move(*request));
    if (!stream) co_return failed(stream.error());
    note_head((*stream)->head());
    if ((*stream)->head().status == 401 && !renewed && renew_token()) {
      renewed = true;
      continue;
    }
    co_return std::move(*stream);
  }
}

ApiClient::ApiClient(asio::any_io_executor ex,
                     ApiAccess access,
                     Options options,
                     const Clock& clock)
    : impl_{std::make_unique<Impl>(std::move(ex), std::move(access), std::move(options), clock)} {}

ApiClient::~ApiClient() = default;

Result<void> ApiClient::open() { return impl_->open(); }

asio::awaitable<Result<ApiAnswer>> ApiClient::call(ApiCall call) {
  return impl_->call(std::move(call));
}

asio::awaitable<Result<std::unique_ptr<net::HttpStream>>> ApiClient::open_stream(
    std::string path, std::string query) {
  ApiCall call;
  call.path = std::move(path);
  call.query = std::move(query);
  return impl_->open_stream(std::move(call));
}

void ApiClient::hide_token(std::string& text) const { impl_->hide(text); }

const ApiClient::Health& ApiClient::health() const { return impl_->health; }

const std::string& ApiClient::server() const { return impl_->server; }

}  // namespace koordlet::k8s
