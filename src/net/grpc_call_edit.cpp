// The part of a call that an editor looks at.
#include <algorithm>
#include <exception>
#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>

#include "net/grpc_call.hpp"
#include "net/grpc_client.hpp"
#include "net/grpc_status.hpp"

namespace koordlet::net {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kMostAnswer = 1u << 20;  // that is kept for GrpcEditor::ended()

/// The one message of a body; nullopt: it is something else.
std::optional<std::string> message_of(std::string_view body) {
  if (body.size() < kGrpcPrefix) return std::nullopt;
  auto out = grpc_unframe(body.substr(0, kGrpcPrefix), std::string{body.substr(kGrpcPrefix)});
  if (!out) return std::nullopt;
  return std::move(*out);
}

}  // namespace

void GrpcCall::collect() {
  const auto bytes = caller_->waiting();
  auto& held = state_->held;
  const auto& options = state_->options;
  if (kept_.size() + bytes.size() > options.max_edited + kGrpcPrefix ||
      held + bytes.size() > options.max_held)
    return give_up_editing();
  held += bytes.size();
  held_ += bytes.size();
  kept_ += bytes;
  caller_->take(bytes.size());
  if (!caller_->ended()) return;
  auto message = message_of(kept_);
  if (!message) return give_up_editing();
  ask_editor(std::move(*message));
}

void GrpcCall::give_up_editing() {
  ++state_->counters.unedited;
  body_ = Body::kForward;
}

void GrpcCall::ask_editor(std::string message) {
  body_ = Body::kEdit;
  edit_ = ++state_->last_edit;
  asked_ = message;
  const auto weak = weak_from_this();
  patience_.expires_after(state_->options.edit_timeout);
  patience_.async_wait([weak](const boost::system::error_code& ec) {
    const auto self = weak.lock();
    if (!ec && self) self->edited(std::optional<std::string>{}, false);
  });
  const auto stop = stop_edit_ = std::make_shared<asio::cancellation_signal>();
  asio::co_spawn(
      state_->ex,
      state_->editor->edit(edit_, path_, std::move(message)),
      asio::bind_cancellation_slot(
          stop->slot(), [weak, stop](const std::exception_ptr& failed, GrpcEditor::Edit answer) {
            if (failed) answer = std::optional<std::string>{};
            if (const auto self = weak.lock()) self->edited(std::move(answer), !failed);
          }));
}

void GrpcCall::stop_editing() {
  if (const auto stop = std::exchange(stop_edit_, nullptr))
    stop->emit(asio::cancellation_type::terminal);
}

void GrpcCall::edited(GrpcEditor::Edit message, bool in_time) {
  if (over_ || failed_ || body_ != Body::kEdit) return;
  body_ = Body::kForward;
  in_time_ = in_time;
  patience_.cancel();
  stop_editing();
  if (!message) {
    ++state_->counters.refused;
    return fail(kStatusInternal, "koordlet cri-proxy: " + message.error().context);
  }
  if (*message) {
    ++state_->counters.edited;
    kept_ = grpc_frame(**message);
  }
  pump();
}

void GrpcCall::watch_answer(std::string_view bytes) {
  if (edit_ == 0 || answer_is_long_) return;
  answer_is_long_ = answer_.size() + bytes.size() > kMostAnswer;
  if (!answer_is_long_) answer_ += bytes;
}

void GrpcCall::tell_editor(bool carried_out) {
  if (edit_ == 0 || std::exchange(told_, true) || state_->editor == nullptr) return;
  GrpcEnd end{edit_, path_, asked_, in_time_, std::nullopt};
  std::optional<std::string> message;
  if (carried_out && !answer_is_long_) {
    const auto* status = find_header(server_->trailers(), "grpc-status");
    if (status != nullptr && *status == "0") message = message_of(answer_);
  }
  if (message) end.answer = *message;
  state_->editor->ended(end);
}

}  // namespace koordlet::net
