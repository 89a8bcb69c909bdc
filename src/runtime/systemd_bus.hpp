#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "base/result.hpp"
#include "runtime/unit_bus.hpp"

namespace koordlet::runtime {

/// systemd's manager over D-Bus, by sd-bus of libsystemd: its own socket <run>/systemd/private,
/// else the system bus <run>/dbus/system_bus_socket. The descriptor is watched by the loop, and
/// no call waits. Loop thread.
class SystemdBus final : public UnitBus {
 public:
  struct Options {
    std::string run = "/run";
    std::chrono::milliseconds timeout{5'000};      ///< of one call
    std::chrono::milliseconds retry_first{1'000};  ///< after a lost or missing bus, doubled
    std::chrono::milliseconds retry_max{60'000};   ///< up to this
  };
  SystemdBus(boost::asio::any_io_executor ex, Options options);
  /// Calls under way end without their answer.
  ~SystemdBus() override;

  /// Connects, and again after the bus was lost, until the task is cancelled. `changed` is called
  /// when the bus comes up, and when it is missing or lost.
  boost::asio::awaitable<void> run(std::function<void()> changed);
  /// One connection, without run(): for a command that ends soon. kNotFound: no socket; kDenied;
  /// kBusy: nobody answers; kIo. Returns systemd's version.
  boost::asio::awaitable<Result<std::string>> connect();

  bool up() const override;
  const std::string& version() const;  ///< "252.39-1~deb12u1"; empty before the first answer
  const std::string& fault() const;    ///< why it is not up; empty while it is

  void set(const std::string& unit,
           const std::vector<UnitProperty>& properties,
           Done done) override;
  void tidy(const std::string& unit, const std::vector<std::string_view>& settings) override;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace koordlet::runtime
