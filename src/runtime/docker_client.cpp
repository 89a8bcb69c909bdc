#include "runtime/docker_client.hpp"

#include <algorithm>

#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/json/parse.hpp>
#include <fmt/format.h>

#include "base/parse.hpp"
#include "net/unix_connect.hpp"
#include "reactor/task_group.hpp"

namespace koordlet::runtime {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using reactor::use_ec;
namespace {

constexpr std::size_t kMaxId = 128, kShownWords = 200;
constexpr std::uint64_t kMaxAnswer = 1u << 20;

bool is_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxId && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-';
  });
}

Error broken(const error_code& ec, const std::string& socket) {
  if (ec == beast::error::timeout) return {Errc::kBusy, socket + ": no answer in time"};
  if (ec == asio::error::operation_aborted) return {Errc::kIo, socket + ": cancelled"};
  if (ec == http::error::body_limit)
    return {Errc::kRange,
            fmt::format("{}: expected an answer of at most {} bytes", socket, kMaxAnswer)};
  if (ec == http::error::end_of_stream || ec == http::error::partial_message)
    return {Errc::kParse, socket + ": the answer ends early"};
  const bool is_http = ec.category() == http::make_error_code(http::error::bad_version).category();
  if (is_http) return {Errc::kParse, fmt::format("{}: not HTTP: {}", socket, ec.message())};
  return {Errc::kIo, fmt::format("{}: {}", socket, ec.message())};
}

/// {"message": "No such container: abc"}, or whatever else came.
std::string words_of(const std::string& body) {
  error_code ec;
  const auto root = boost::json::parse(body, ec);
  const auto* object = ec ? nullptr : root.if_object();
  const auto* message = object == nullptr ? nullptr : object->if_contains("message");
  const auto* text = message == nullptr ? nullptr : message->if_string();
  const std::string_view shown =
      text == nullptr ? std::string_view{body} : std::string_view{text->data(), text->size()};
  return printable(shown, kShownWords);
}

Errc code_of(unsigned status) {
  switch (status) {
    case 401:
    case 403:
      return Errc::kDenied;
    case 404:
      return Errc::kNotFound;
    case 429:
    case 503:
      return Errc::kBusy;
    default:
      return Errc::kIo;
  }
}

asio::awaitable<Result<std::string>> get(asio::any_io_executor ex,
                                         DockerClient::Options options,
                                         std::string target) {
  const auto& name = options.socket;
  auto connected = net::connect_unix(ex, name);
  if (!connected) co_return connected.error();
  beast::basic_stream<asio::local::stream_protocol> stream{std::move(*connected)};
  stream.expires_after(options.timeout);
  http::request<http::empty_body> request{http::verb::get, target, 11};
  request.set(http::field::host, "localhost");
  request.set(http::field::connection, "close");
  const auto [unsent, sent] = co_await http::async_write(stream, request, use_ec);
  // A peer that has answered may have closed before it read the question.
  const bool closed = unsent == asio::error::broken_pipe || unsent == asio::error::connection_reset;
  if (unsent && !closed) co_return broken(unsent, name);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kMaxAnswer);
  const auto [unread, got] = co_await http::async_read(stream, buffer, parser, use_ec);
  if (unread) co_return broken(unread, name);
  auto& answer = parser.get();
  const auto status = answer.result_int();
  if (status == 200) co_return std::move(answer.body());
  co_return Error{
      code_of(status),
      fmt::format("{}: {}: HTTP {}: {}", name, target, status, words_of(answer.body()))};
}

asio::awaitable<Result<ContainerStats>> ask(asio::any_io_executor ex,
                                            DockerClient::Options options,
                                            std::string id) {
  if (!is_id(id)) {
    co_return Error{Errc::kRange,
                    fmt::format("container id '{}': expected letters, digits, '_' and '-'",
                                printable(id, kMaxId))};
  }
  const auto body =
      co_await get(ex, options, fmt::format("/containers/{}/stats?stream=false&one-shot=true", id));
  if (!body) co_return body.error();
  auto stats = parse_docker_stats(*body);
  if (!stats) co_return wrap(fmt::format("{}: container {}", options.socket, id), stats.error());
  stats->id = id;
  co_return stats;
}

}  // namespace

DockerClient::DockerClient(asio::any_io_executor ex, Options options)
    : ex_{std::move(ex)}, options_{std::move(options)} {}
DockerClient::~DockerClient() = default;

asio::awaitable<Result<ContainerStats>> DockerClient::stats(const std::string& id) {
  return ask(ex_, options_, id);
}

}  // namespace koordlet::runtime
