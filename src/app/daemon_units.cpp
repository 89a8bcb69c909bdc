#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "app/daemon_impl.hpp"
#include "base/log.hpp"
#include "runtime/systemd_bus.hpp"
#include "runtime/unit_sync.hpp"

namespace koordlet::app {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kDriverPoll{2};
/// Of a stop: systemd needs some milliseconds for a unit; what it does not take in this time keeps
/// koordlet's value until the next stop or `koordlet restore`.
constexpr std::chrono::milliseconds kDrainTime{1'500};
constexpr std::chrono::milliseconds kDrainPoll{5};

}  // namespace

void Daemon::open_units() {
  if (!config_.unit_properties || version_ != CgroupVersion::kV2) return;
  if (config_.executor.dry_run) return;
  systemd_ = std::make_unique<runtime::SystemdBus>(
      io_.get_executor(), runtime::SystemdBus::Options{.run = config_.run_root});
  units_ = std::make_unique<runtime::UnitSync>(*systemd_);
  executor_->use_unit_owner(*units_);
}

asio::awaitable<void> Daemon::unit_loop() {
  asio::steady_timer wait{io_};
  for (;;) {
    const auto layout = states_->layout();
    if (layout && layout->driver() == CgroupDriver::kSystemd) break;
    wait.expires_after(kDriverPoll);
    co_await wait.async_wait(reactor::use_ec);
  }
  co_await systemd_->run([this] { log_units(); });
}

void Daemon::log_units() {
  if (systemd_->up()) {
    log::info(
        "systemd",
        fmt::format("{} answers: its units are told what koordlet writes", systemd_->version()));
    unit_fault_.clear();
    units_->send();
    return;
  }
  if (systemd_->fault() == unit_fault_) return;
  unit_fault_ = systemd_->fault();
  log::warn("systemd",
            fmt::format("{}: only files are written, what systemd puts back is put right with the "
                        "next tick",
                        unit_fault_));
}

asio::awaitable<void> Daemon::drain_units() {
  if (!units_) co_return;
  const auto until = clock_.now() + kDrainTime;
  asio::steady_timer wait{io_};
  while (!units_->idle() && systemd_->up() && clock_.now() < until) {
    wait.expires_after(kDrainPoll);
    co_await wait.async_wait(reactor::use_ec);
  }
  const auto left = units_->counters();
  if (left.pending == 0) co_return;
  exit_code_ = 1;
  log::error("systemd",
             fmt::format("{} units may still have koordlet's values: {}: run koordlet restore",
                         left.pending,
                         left.last_error.empty() ? "no answer in time" : left.last_error));
}

void Daemon::add_units(StatusView& v) const {
  if (!units_) return;
  const auto c = units_->counters();
  v.units = {true,
             systemd_->up(),
             systemd_->version(),
             systemd_->fault(),
             c.last_error,
             c.sets,
             c.failures,
             c.gone,
             c.pending,
             c.units};
  v.counter(
      "unit_property_sets_total", c.sets, "Calls that told systemd what a unit's files hold.");
  v.counter("unit_property_failures_total", c.failures, "Such calls refused or without an answer.");
  v.gauge("unit_property_pending",
          static_cast<double>(c.pending),
          "Units that systemd has still to be told of.");
  v.gauge("systemd_connected", systemd_->up() ? 1 : 0, "1 while systemd answers over D-Bus.");
}

}  // namespace koordlet::app
