#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/grpc_forward.hpp"

namespace koordlet::net {

class GrpcCall;

struct GrpcForward::State {
  boost::asio::any_io_executor ex;
  GrpcUpstream* upstream;  ///< nullptr: the GrpcForward is gone
  GrpcEditor* editor;
  Options options;
  Counters counters = {};
  std::uint64_t last_edit = 0;  ///< number of the newest call that the editor was asked about
  std::size_t held = 0;
  std::set<std::shared_ptr<GrpcCall>> calls = {};
};

/// One call between the caller's stream and the server's: each change of one side is carried over
/// to the other by pump(), which looks at the whole of both and may run at any time.
class GrpcCall : public Http2Watcher, public std::enable_shared_from_this<GrpcCall> {
 public:
  GrpcCall(std::shared_ptr<GrpcForward::State> state, std::shared_ptr<Http2Stream> caller);
  void start();
  void changed(Http2Stream&) override { pump(); }
  void end_watch();  ///< if it is one
  void cut();        ///< both sides, at once

 private:
  /// What becomes of the request's body.
  enum class Body {
    kCollect,  ///< kept, for edit()
    kEdit,     ///< edit() runs
    kForward,
  };
  void pump();
  void step();
  void arm_deadline(std::string_view timeout);
  void collect();
  void give_up_editing();
  void ask_editor(std::string message);
  void edited(GrpcEditor::Edit message, bool in_time);
  void stop_editing();
  Http2Headers request_head() const;
  void open();
  void forward_request();
  void forward_answer();
  void watch_answer(std::string_view bytes);
  void tell_editor(bool carried_out);
  bool carry_end();
  void fail(int status, std::string_view words);
  void finish();

  std::shared_ptr<GrpcForward::State> state_;
  std::shared_ptr<Http2Stream> caller_, server_;
  boost::asio::steady_timer deadline_, patience_;
  std::optional<std::chrono::steady_clock::time_point> until_;
  std::shared_ptr<boost::asio::cancellation_signal> stop_edit_;  ///< held by edit() too
  Body body_ = Body::kForward;
  std::string path_;
  std::string kept_;            ///< of the request, framed; in kForward: what is still to be sent
  std::size_t kept_at_ = 0;     ///< bytes of it that were sent
  std::size_t held_ = 0;        ///< counted in State::held
  std::string asked_, answer_;  ///< for GrpcEditor::ended()
  std::uint64_t edit_ = 0;      ///< number for the editor; 0: it was not asked
  bool in_time_ = false, told_ = false, answer_is_long_ = false;
  bool pumping_ = false, again_ = false;
  bool failed_ = false;  ///< answered by us; waits until that is sent
  bool over_ = false;
};

}  // namespace koordlet::net
