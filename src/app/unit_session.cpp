#include "app/unit_session.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include "app/doctor_checks.hpp"
#include "kernel/host.hpp"
#include "runtime/systemd_bus.hpp"
#include "runtime/unit_sync.hpp"

namespace koordlet::app {

struct UnitSession::Impl {
  explicit Impl(const Config& config) : bus{io.get_executor(), {.run = config.run_root}} {}
  boost::asio::io_context io;
  runtime::SystemdBus bus;
  runtime::UnitSync units{bus};
};

UnitSession::UnitSession(const Config& config) : impl_{std::make_unique<Impl>(config)} {}
UnitSession::~UnitSession() = default;

bool UnitSession::wanted(const Config& config) {
  if (!config.unit_properties) return false;
  const auto version = kernel::detect_cgroup_version(config.host);
  if (!version || *version != CgroupVersion::kV2) return false;
  return kernel::detect_cgroup_driver(config.host, *version) == CgroupDriver::kSystemd;
}

Result<std::string> UnitSession::connect(std::chrono::milliseconds limit) {
  Result<std::string> out = Error{Errc::kBusy, "systemd does not answer"};
  bool done = false;
  boost::asio::co_spawn(impl_->io,
                        impl_->bus.connect(),
                        [&](const std::exception_ptr& failure, Result<std::string> answer) {
                          if (!failure) out = std::move(answer);
                          done = true;
                        });
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!done && impl_->io.run_one_until(until) > 0) {
  }
  if (!done) {  // its handler refers to this frame: end it before that goes
    impl_.reset();
  }
  return out;
}

UnitOwner& UnitSession::owner() { return impl_->units; }

Result<void> UnitSession::finish(std::chrono::milliseconds limit) {
  if (!impl_) return Error{Errc::kBusy, "systemd does not answer"};
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!impl_->units.idle() && impl_->bus.up() && impl_->io.run_one_until(until) > 0) {
  }
  const auto counters = impl_->units.counters();
  if (counters.pending == 0 && counters.failures == 0) return {};
  return Error{
      Errc::kBusy,
      fmt::format("{} units not told, {} calls failed: {}",
                  counters.pending,
                  counters.failures,
                  counters.last_error.empty() ? "no answer in time" : counters.last_error)};
}

Check check_systemd(const Config& config) {
  const std::string name = "systemd bus";
  constexpr std::chrono::milliseconds kLimit{1'000};
  if (!config.unit_properties) {
    return not_applicable(name, "executor.unit_properties = \"off\": files only");
  }
  if (!UnitSession::wanted(config)) {
    return not_applicable(name, "for cgroup v2 with the driver systemd; files only");
  }
  UnitSession session{config};
  const auto version = session.connect(kLimit);
  if (version) return yes(name, fmt::format("systemd {}: units are told their values", *version));
  return no(name,
            fmt::format("{}: what systemd puts back is put right with the next tick",
                        version.error().context),
            fmt::format("mount the host's /run/systemd and /run/dbus below {} (host.run_root), "
                        "writable",
                        config.run_root));
}

}  // namespace koordlet::app
