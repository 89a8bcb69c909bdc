#include "runtime/docker_client.hpp"

#include <algorithm>
#include <cctype>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <fmt/format.h>

namespace koordlet::runtime {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace {

constexpr auto kUseEc = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kMaxId = 128, kMaxPath = 107;
constexpr std::uint64_t kMaxAnswer = 1u << 20;

bool is_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxId && std::all_of(id.begin(), id.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  });
}

Error connect_error(int err, const std::string& socket) {
  auto error = errno_error(err, socket, "connect");
  if (err == ECONNREFUSED) error = {Errc::kBusy, socket + ": nobody listens there"};
  return error;
}

Error io_error(const boost::system::error_code& ec, const std::string& socket) {
  if (ec == beast::error::timeout) return {Errc::kBusy, socket + ": no answer in time"};
  if (ec == http::error::body_limit)
    return {Errc::kRange, fmt::format("{}: expected at most {} bytes", socket, kMaxAnswer)};
  return {Errc::kParse, fmt::format("{}: not an HTTP answer: {}", socket, ec.message())};
}

}  // namespace

struct DockerClient::Impl {
  asio::any_io_executor ex;
  Options options;

  asio::awaitable<Result<std::string>> get(std::string target) {
    const auto& name = options.socket;
    if (name.empty() || name.size() > kMaxPath) {
      co_return Error{Errc::kRange,
                      fmt::format("socket '{}': expected a path of 1 to {} bytes", name, kMaxPath)};
    }
    beast::basic_stream<asio::local::stream_protocol> stream{ex};
    boost::system::error_code failed;
    stream.socket().open(asio::local::stream_protocol{}, failed);
    if (!failed) stream.socket().non_blocking(true, failed);
    if (!failed) stream.socket().connect(asio::local::stream_protocol::endpoint{name}, failed);
    if (failed) co_return connect_error(failed.value(), name);
    stream.expires_after(options.timeout);
    http::request<http::empty_body> request{http::verb::get, target, 11};
    request.set(http::field::host, "localhost");
    request.set(http::field::connection, "close");
    const auto [unsent, sent] = co_await http::async_write(stream, request, kUseEc);
    if (unsent) co_return io_error(unsent, name);
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(kMaxAnswer);
    const auto [unread, got] = co_await http::async_read(stream, buffer, parser, kUseEc);
    if (unread) co_return io_error(unread, name);
    auto& answer = parser.get();
    if (answer.result_int() == 404)
      co_return Error{Errc::kNotFound, fmt::format("{}: {}: no such container", name, target)};
    if (answer.result_int() != 200) {
      co_return Error{Errc::kIo,
                      fmt::format("{}: {}: expected HTTP 200, got {}: {}",
                                  name,
                                  target,
                                  answer.result_int(),
                                  answer.body().substr(0, 200))};
    }
    co_return std::move(answer.body());
  }
};

DockerClient::DockerClient(asio::any_io_executor ex, Options options)
    : impl_{std::make_unique<Impl>(Impl{std::move(ex), std::move(options)})} {}
DockerClient::~DockerClient() = default;

asio::awaitable<Result<ContainerStats>> DockerClient::stats(const std::string& id) {
  const std::string container = id;
  if (!is_id(container)) {
    co_return Error{Errc::kRange,
                    fmt::format("container id '{}': expected letters, digits, '_' and '-'",
                                container.substr(0, 64))};
  }
  const auto body = co_await impl_->get(
      fmt::format("/containers/{}/stats?stream=false&one-shot=true", container));
  if (!body) co_return body.error();
  auto stats = parse_docker_stats(*body);
  if (!stats) co_return wrap("container " + container, stats.error());
  stats->id = container;
  co_return stats;
}

}  // namespace koordlet::runtime
