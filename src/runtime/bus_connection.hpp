#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <systemd/sd-bus.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/result.hpp"

namespace koordlet::runtime {

/// One D-Bus connection of sd-bus on the loop: the descriptor and the deadlines that sd-bus names
/// are watched by Asio, and sd_bus_process() runs when one of them is due. Loop thread.
class BusConnection : public std::enable_shared_from_this<BusConnection> {
 public:
  /// The reply, valid during the call; or why there is none: kNotFound (no such unit), kInvalid
  /// (refused), kDenied, kBusy (lost, or not in time). Never called from within call().
  using Reply = std::function<void(Result<sd_bus_message*>)>;
  enum class Peer { kManager, kSystemBus };

  /// Begins to connect; what is called meanwhile is sent once the peer is there. kNotFound: no
  /// socket; kDenied; kBusy: nobody listens; kIo.
  static Result<std::shared_ptr<BusConnection>> open(const boost::asio::any_io_executor& ex,
                                                     const std::string& socket,
                                                     Peer peer);
  BusConnection(const boost::asio::any_io_executor& ex, std::string socket);
  ~BusConnection();  ///< calls under way end without a reply
  BusConnection(const BusConnection&) = delete;
  BusConnection& operator=(const BusConnection&) = delete;

  /// An empty call of systemd's manager; nullptr after the end. unref by the caller.
  sd_bus_message* new_call(const char* interface, const char* method);
  /// Sends it, with a time limit for the reply.
  void call(sd_bus_message* message, std::chrono::milliseconds timeout, Reply reply);
  /// Called once, when the connection is lost.
  void on_lost(std::function<void(const Error&)> handler) { lost_ = std::move(handler); }
  /// Calls under way get kBusy, later.
  void close();

 private:
  struct Pending {
    BusConnection* self;
    Reply reply;
    sd_bus_slot* slot = nullptr;
    std::list<Pending>::iterator place;
  };
  static int on_reply(sd_bus_message* message, void* data, sd_bus_error* error);
  Result<void> start(Peer peer);
  void drive();
  void arm();
  void arm_timer();
  void broken(int err);
  void fail_later(Reply reply, Error error);

  std::string socket_;
  boost::asio::posix::stream_descriptor fd_;
  boost::asio::steady_timer timer_;
  sd_bus* bus_ = nullptr;
  bool reading_ = false, writing_ = false;
  std::uint64_t deadline_us_ = UINT64_MAX;  ///< that the timer waits for
  std::list<Pending> pending_;
  std::function<void(const Error&)> lost_;
};

/// What a D-Bus error of systemd means for the caller. Pure.
Errc bus_error_code(std::string_view name);

}  // namespace koordlet::runtime
