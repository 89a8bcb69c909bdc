#include "net/grpc_call.hpp"

#include <algorithm>
#include <nghttp2/nghttp2.h>
#include <utility>

#include "base/parse.hpp"
#include "net/grpc_client.hpp"
#include "net/grpc_metadata.hpp"
#include "net/grpc_status.hpp"

namespace koordlet::net {
namespace {

constexpr std::string_view kWatch = "/GetContainerEvents";
// A timer so far ahead is as good as none, and the sum cannot overflow.
constexpr std::chrono::hours kLongestTimer{24 * 365};

}  // namespace

GrpcCall::GrpcCall(std::shared_ptr<GrpcForward::State> state, std::shared_ptr<Http2Stream> caller)
    : state_{std::move(state)},
      caller_{std::move(caller)},
      deadline_{state_->ex},
      patience_{state_->ex} {}

void GrpcCall::start() {
  ++state_->counters.calls;
  if (const auto* path = find_header(caller_->head(), ":path")) path_ = *path;
  if (path_.empty() || find_header(caller_->head(), ":method") == nullptr) {
    caller_->reset(NGHTTP2_PROTOCOL_ERROR);
    return;
  }
  state_->calls.insert(shared_from_this());
  if (const auto* timeout = find_header(caller_->head(), "grpc-timeout")) arm_deadline(*timeout);
  if (state_->editor != nullptr && state_->editor->wants(path_)) body_ = Body::kCollect;
  caller_->watch(shared_from_this());
}

void GrpcCall::arm_deadline(std::string_view timeout) {
  const auto span = parse_grpc_timeout(timeout);
  if (!span || *span > kLongestTimer) return;
  until_ = std::chrono::steady_clock::now() + *span;
  deadline_.expires_at(*until_);
  deadline_.async_wait([weak = weak_from_this()](const boost::system::error_code& ec) {
    const auto self = weak.lock();
    if (ec || !self || self->over_ || self->failed_ || self->caller_->is_finished()) return;
    ++self->state_->counters.late;
    self->fail(kStatusDeadlineExceeded, "koordlet cri-proxy: the call's time has passed");
  });
}

void GrpcCall::pump() {
  if (pumping_) {
    again_ = true;
    return;
  }
  const auto self = shared_from_this();
  pumping_ = true;
  do {
    again_ = false;
    if (!over_) step();
  } while (again_);
  pumping_ = false;
}

void GrpcCall::step() {
  if (caller_->is_over() && !(caller_->ended() && caller_->is_sent())) {
    if (server_) server_->reset(caller_->reset_code().value_or(NGHTTP2_CANCEL));
    return finish();
  }
  if (failed_) {
    caller_->take(caller_->waiting().size());
    if (!caller_->is_sent()) return;
    if (!caller_->is_over()) caller_->reset(NGHTTP2_NO_ERROR);  // no more of the request
    return finish();
  }
  if (body_ == Body::kCollect) collect();
  if (body_ != Body::kForward) return;
  if (!server_) open();
  if (!server_ || failed_) return;
  forward_request();
  forward_answer();
}

Http2Headers GrpcCall::request_head() const {
  auto out = without_hop_headers(caller_->head());
  if (edit_ == 0 || !until_) return out;
  // The hook took some of the call's time.
  const auto left = *until_ - std::chrono::steady_clock::now();
  for (auto& [name, value] : out)
    if (name == "grpc-timeout") value = exact_grpc_timeout(left);
  return out;
}

void GrpcCall::open() {
  if (state_->upstream == nullptr) return cut();
  const bool whole = caller_->ended() && caller_->waiting().empty() && kept_.empty();
  auto made = state_->upstream->open(request_head(), whole);
  if (!made) {
    ++state_->counters.unavailable;
    return fail(kStatusUnavailable,
                "koordlet cri-proxy: the runtime is not there: " + made.error().context);
  }
  server_ = std::move(*made);
  server_->watch(shared_from_this());
}

void GrpcCall::forward_request() {
  if (kept_at_ < kept_.size()) {
    const auto n = std::min(server_->room(), kept_.size() - kept_at_);
    server_->put(std::string_view{kept_}.substr(kept_at_, n));
    kept_at_ += n;
    if (kept_at_ < kept_.size()) return;
    std::string{}.swap(kept_);
    kept_at_ = 0;
    state_->held -= std::exchange(held_, 0);
  }
  const auto n = std::min(server_->room(), caller_->waiting().size());
  if (n > 0) {
    server_->put(caller_->waiting().substr(0, n));
    caller_->take(n);
  }
  if (!caller_->ended() || !caller_->waiting().empty()) return;
  if (!server_->is_finished()) server_->finish(caller_->trailers());
}

void GrpcCall::forward_answer() {
  if (server_->has_head() && !caller_->is_finished()) {
    const bool whole =
        server_->ended() && server_->waiting().empty() && server_->trailers().empty();
    caller_->respond(without_hop_headers(server_->head()), whole);
    if (whole) tell_editor(true);
  }
  const auto n = std::min(caller_->room(), server_->waiting().size());
  if (n > 0) {
    watch_answer(server_->waiting().substr(0, n));
    caller_->put(server_->waiting().substr(0, n));
    server_->take(n);
  }
  if (carry_end()) return;
  if (!server_->is_over()) return;
  if (server_->is_lost()) {
    ++state_->counters.unavailable;
    return fail(kStatusUnavailable, "koordlet cri-proxy: the runtime ended the connection");
  }
  caller_->reset(server_->reset_code().value_or(NGHTTP2_INTERNAL_ERROR));
  finish();
}

/// Whether the answer is whole: its end is carried over, and once that is sent the call is over.
bool GrpcCall::carry_end() {
  if (!server_->has_head() || !server_->ended()) return false;
  if (!server_->waiting().empty()) return true;
  if (!caller_->is_finished()) {
    tell_editor(true);
    caller_->finish(server_->trailers());
  }
  if (!caller_->is_sent()) return true;
  // A server that answers before the request has ended does not want the rest of it.
  if (!server_->is_over() && !server_->is_sent()) server_->reset(NGHTTP2_NO_ERROR);
  if (!caller_->is_over() && !caller_->ended()) caller_->reset(NGHTTP2_NO_ERROR);
  finish();
  return true;
}

void GrpcCall::fail(int status, std::string_view words) {
  failed_ = true;
  deadline_.cancel();
  stop_editing();
  if (server_) server_->reset(NGHTTP2_CANCEL);
  if (server_ && server_->has_head()) {
    caller_->finish(grpc_trailers(status, printable(words, 300)));
  } else {
    caller_->respond(grpc_status_only(status, printable(words, 300)), true);
  }
  pump();
}

void GrpcCall::end_watch() {
  if (!failed_ && !over_ && path_.ends_with(kWatch))
    fail(kStatusUnavailable, "koordlet cri-proxy: ending");
}

void GrpcCall::cut() {
  if (over_) return;
  if (server_) server_->reset(NGHTTP2_CANCEL);
  caller_->reset(NGHTTP2_CANCEL);
  finish();
}

void GrpcCall::finish() {
  const auto self = shared_from_this();
  over_ = true;
  tell_editor(false);
  deadline_.cancel();
  patience_.cancel();
  stop_editing();
  state_->held -= std::exchange(held_, 0);
  state_->calls.erase(self);
}

}  // namespace koordlet::net
