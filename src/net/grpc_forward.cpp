#include "net/grpc_forward.hpp"

#include <utility>
#include <vector>

#include "net/grpc_call.hpp"

namespace koordlet::net {

GrpcForward::GrpcForward(boost::asio::any_io_executor ex,
                         GrpcUpstream& upstream,
                         GrpcEditor* editor,
                         Options options)
    : state_{std::make_shared<State>(State{std::move(ex), &upstream, editor, options})} {}

GrpcForward::~GrpcForward() {
  state_->upstream = nullptr;
  state_->editor = nullptr;
  for (const auto& call : std::vector(state_->calls.begin(), state_->calls.end())) call->cut();
}

void GrpcForward::take(const std::shared_ptr<Http2Stream>& stream) {
  std::make_shared<GrpcCall>(state_, stream)->start();
}

void GrpcForward::end_watches() {
  for (const auto& call : std::vector(state_->calls.begin(), state_->calls.end()))
    call->end_watch();
}

const GrpcForward::Counters& GrpcForward::counters() const { return state_->counters; }
std::size_t GrpcForward::held() const { return state_->held; }

}  // namespace koordlet::net
