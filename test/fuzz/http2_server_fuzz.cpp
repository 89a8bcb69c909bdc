#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/connect_pair.hpp>

#include "fuzz.hpp"
#include "net/http2_link.hpp"

namespace {

using namespace koordlet;
using namespace koordlet::fuzz;
using net::Http2Link;
using net::Http2Stream;

/// Takes and answers as a call is answered, or leaves the stream alone, or resets it.
struct Watcher final : net::Http2Watcher {
  explicit Watcher(std::uint8_t way) : way_{way} {}
  void changed(Http2Stream& s) override {
    require(s.waiting().size() <= net::kHttp2Window, "at most one window waits");
    std::size_t head = 0;
    for (const auto& [name, value] : s.head()) head += name.size() + value.size();
    require(head <= net::kHttp2HeaderBytes, "headers are bounded");
    if (way_ % 4 == 0) return;
    if (way_ % 4 == 1) s.take(s.waiting().size());
    if (way_ % 4 == 2) s.take(s.waiting().size() / 2);
    if (way_ % 4 == 3 && s.waiting().size() > 8) return s.reset(8);
    if (!answered_) s.respond({{":status", "200"}}, false);
    answered_ = true;
    if (!s.is_finished()) s.put(std::string(s.room() / 2, 'a'));
    if (s.ended() && !s.is_finished()) s.finish({{"grpc-status", "0"}});
  }

 private:
  std::uint8_t way_;
  bool answered_ = false;
};

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::uint32_t kMaxStreams = 20;

}  // namespace

/// Two bytes: how streams are treated, whether the preface comes first; the rest is what a client
/// sends.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices from{text_of(data, size)};
  const auto way = from.byte();
  const auto cut = from.byte();
  std::string wire{(cut & 1) != 0 ? "" : kPreface};
  wire += from.rest();

  boost::asio::io_context io;
  Http2Link::Socket ours{io}, peer{io};
  boost::asio::local::connect_pair(ours, peer);
  peer.non_blocking(true);
  std::size_t begun = 0;
  const auto link = std::make_shared<Http2Link>(
      std::move(ours), Http2Link::Options{"fuzz", kMaxStreams, [&](const auto& stream) {
                                            ++begun;
                                            const auto ways =
                                                static_cast<std::uint8_t>(way + begun);
                                            stream->watch(std::make_shared<Watcher>(ways));
                                          }});
  if (!link->start()) return 0;
  const std::size_t step = (cut >> 1) == 0 ? wire.size() : (cut >> 1);
  std::vector<char> sink(64 * 1024);
  for (std::size_t at = 0; at < wire.size();) {
    boost::system::error_code ec;
    at += peer.write_some(boost::asio::buffer(wire.data() + at, std::min(step, wire.size() - at)),
                          ec);
    for (int turns = 0; turns < 50 && io.poll() > 0; ++turns) {
      require(link->streams() <= kMaxStreams, "no more streams than allowed");
      require(link->waiting_bytes() <= kMaxStreams * (net::kHttp2Window + net::kHttp2Room),
              "what waits is bounded");
      boost::system::error_code ignored;
      static_cast<void>(peer.read_some(boost::asio::buffer(sink), ignored));
    }
    if (ec && ec != boost::asio::error::would_block) break;
    if (!link->is_open()) break;
  }
  link->drain();
  io.poll();
  link->close();
  require(link->streams() == 0, "closed, it has no streams");
  io.poll();
  return 0;
}
