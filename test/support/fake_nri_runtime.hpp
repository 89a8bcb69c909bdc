#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "support/raw_ttrpc.hpp"

namespace koordlet::test {

/// What a broken or restarting runtime does in the place of a plain registration.
enum class NriFault {
  kNone,
  kMute,             ///< accepts and never reads a byte
  kNoAnswer,         ///< reads, and never answers RegisterPlugin
  kRefuse,           ///< answers RegisterPlugin with a status
  kCloseAtOnce,      ///< the connection ends as soon as it is there
  kCloseInRegister,  ///< and in the place of the answer to RegisterPlugin
  kCloseInSync,      ///< after the first part of Synchronize
  kNoSync,           ///< no Configure and Synchronize after the registration
  kGarbage,          ///< a frame of 2 GiB in the place of the answer to RegisterPlugin
  kConfigureFirst,   ///< Configure comes before the answer to RegisterPlugin
};

/// A container runtime's end of the NRI socket: registration, Configure, Synchronize in parts, then
/// what the test asks. On the caller's loop; the plugin's calls are answered at once.
class FakeNriRuntime {
 public:
  FakeNriRuntime(boost::asio::any_io_executor ex, std::string path);
  ~FakeNriRuntime();
  FakeNriRuntime(const FakeNriRuntime&) = delete;
  FakeNriRuntime& operator=(const FakeNriRuntime&) = delete;

  void set_fault(NriFault fault, int connections = 1'000'000);  ///< for so many from now on
  void set_parts(std::vector<std::string> parts);               ///< bodies of SynchronizeRequest
  void set_configure(std::string body);                         ///< of ConfigureRequest
  void set_updates_answer(net::TtrpcResponse response, bool held = false);

  /// A call of the service Plugin on the newest connection; its stream.
  std::uint32_t ask(const std::string& method, const std::string& body);
  const net::TtrpcResponse* answer(std::uint32_t stream) const;
  void say(std::string bytes);  ///< raw
  void drop();                  ///< the newest connection ends
  void stop_listening();
  void listen_again();

  int accepted() const;                                   ///< connections so far
  std::size_t open() const;                               ///< now
  std::size_t most_open() const;                          ///< at any time
  const std::vector<std::string>& registrations() const;  ///< bodies of RegisterPlugin
  const std::vector<std::string>& updates() const;        ///< bodies of UpdateContainers
  /// Answers to Configure and each part of Synchronize, of all connections.
  const std::vector<net::TtrpcResponse>& handshake() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace koordlet::test
