#include "runtime/systemd_bus.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "runtime/bus_connection.hpp"
#include "runtime/unit_drop_ins.hpp"

namespace koordlet::runtime {
namespace {

namespace asio = boost::asio;

constexpr auto kUseEc = asio::as_tuple(asio::use_awaitable);
constexpr const char* kManager = "org.freedesktop.systemd1.Manager";

struct Unref {
  void operator()(sd_bus_message* m) const { sd_bus_message_unref(m); }
};
using Message = std::unique_ptr<sd_bus_message, Unref>;

int append(sd_bus_message* m, const UnitProperty& property) {
  const auto* bytes = std::get_if<std::vector<std::uint8_t>>(&property.value);
  const char* type = bytes == nullptr ? "t" : "ay";
  int r = sd_bus_message_open_container(m, 'r', "sv");
  if (r >= 0) r = sd_bus_message_append(m, "s", property.name.c_str());
  if (r >= 0) r = sd_bus_message_open_container(m, 'v', type);
  if (r >= 0) {
    r = bytes == nullptr ? sd_bus_message_append(m, "t", std::get<std::uint64_t>(property.value))
                         : sd_bus_message_append_array(m, 'y', bytes->data(), bytes->size());
  }
  if (r >= 0) r = sd_bus_message_close_container(m);
  if (r >= 0) r = sd_bus_message_close_container(m);
  return r;
}

/// False: out of memory, or the connection has ended.
bool fill(sd_bus_message* m, const std::string& unit, const std::vector<UnitProperty>& properties) {
  constexpr int kRuntime = 1;  // until the next boot, never in /etc
  if (m == nullptr || sd_bus_message_append(m, "sb", unit.c_str(), kRuntime) < 0) return false;
  if (sd_bus_message_open_container(m, 'a', "(sv)") < 0) return false;
  for (const auto& property : properties) {
    if (append(m, property) < 0) return false;
  }
  return sd_bus_message_close_container(m) >= 0;
}

/// What ask_version() waits for; the reply may come after it has given up.
struct Asked {
  explicit Asked(const asio::any_io_executor& ex) : wait{ex} {}
  asio::steady_timer wait;
  std::optional<Result<std::string>> answer;
};

asio::awaitable<Result<std::string>> ask_version(std::shared_ptr<BusConnection> connection,
                                                 asio::any_io_executor ex,
                                                 std::chrono::milliseconds timeout) {
  const auto asked = std::make_shared<Asked>(ex);
  asked->wait.expires_after(timeout);
  const Message m{connection->new_call("org.freedesktop.DBus.Properties", "Get")};
  if (m != nullptr) sd_bus_message_append(m.get(), "ss", kManager, "Version");
  connection->call(m.get(), timeout, [asked](Result<sd_bus_message*> reply) {
    const char* text = nullptr;
    if (!reply) {
      asked->answer = reply.error();
    } else if (sd_bus_message_read(*reply, "v", "s", &text) < 0 || text == nullptr) {
      asked->answer = Error{Errc::kParse, "systemd's version is no text"};
    } else {
      asked->answer = std::string{text}.substr(0, 100);
    }
    asked->wait.cancel();
  });
  co_await asked->wait.async_wait(kUseEc);
  if (!asked->answer) co_return Error{Errc::kBusy, "systemd does not answer"};
  co_return *asked->answer;
}

}  // namespace

struct SystemdBus::Impl : std::enable_shared_from_this<Impl> {
  Impl(asio::any_io_executor e, Options o)
      : ex{std::move(e)}, options{std::move(o)}, wake{ex, asio::steady_timer::time_point::max()} {}

  asio::any_io_executor ex;
  Options options;
  std::shared_ptr<BusConnection> connection;  ///< set while it is up
  std::string version, fault = "not connected yet";
  asio::steady_timer wake;  ///< cancelled when the bus is lost

  asio::awaitable<Result<std::string>> connect();
  void send(const std::string& unit, const std::vector<UnitProperty>& properties, Done done);
};

SystemdBus::SystemdBus(asio::any_io_executor ex, Options options)
    : impl_{std::make_shared<Impl>(std::move(ex), std::move(options))} {}

SystemdBus::~SystemdBus() {
  if (impl_->connection) impl_->connection->close();
}

asio::awaitable<Result<std::string>> SystemdBus::Impl::connect() {
  const auto self = shared_from_this();
  struct Candidate {
    const char* socket;
    BusConnection::Peer peer;
  };
  constexpr std::array kCandidates{
      Candidate{"/systemd/private", BusConnection::Peer::kManager},
      Candidate{"/dbus/system_bus_socket", BusConnection::Peer::kSystemBus}};
  Error why{Errc::kNotFound, ""};
  for (const auto& candidate : kCandidates) {
    const auto socket = options.run + candidate.socket;
    auto opened = BusConnection::open(ex, socket, candidate.peer);
    Result<std::string> answer = Error{Errc::kIo, ""};
    if (opened) {
      answer = co_await ask_version(*opened, ex, options.timeout);
    } else {
      answer = opened.error();
    }
    if (!answer) {
      auto error = opened ? wrap(socket, answer.error()) : answer.error();
      if (why.code == Errc::kNotFound) why = std::move(error);
      if (opened) (*opened)->close();
      continue;
    }
    connection = *opened;
    version = *answer;
    fault.clear();
    connection->on_lost([weak = weak_from_this()](const Error& error) {
      const auto impl = weak.lock();
      if (!impl) return;
      impl->connection.reset();
      impl->fault = error.context;
      impl->wake.cancel();
    });
    co_return version;
  }
  fault = why.context;
  co_return why;
}

asio::awaitable<Result<std::string>> SystemdBus::connect() { return impl_->connect(); }

asio::awaitable<void> SystemdBus::run(std::function<void()> changed) {
  const auto impl = impl_;
  auto pause = impl->options.retry_first;
  asio::steady_timer timer{impl->ex};
  for (;;) {
    const auto connected = co_await impl->connect();
    changed();
    if (connected) {
      pause = impl->options.retry_first;
      while (impl->connection) {
        impl->wake.expires_at(asio::steady_timer::time_point::max());
        co_await impl->wake.async_wait(kUseEc);
      }
      changed();
    }
    timer.expires_after(pause);
    co_await timer.async_wait(kUseEc);
    pause = std::min(2 * pause, impl->options.retry_max);
  }
}

bool SystemdBus::up() const { return impl_->connection != nullptr; }
const std::string& SystemdBus::version() const { return impl_->version; }
const std::string& SystemdBus::fault() const { return impl_->fault; }

void SystemdBus::Impl::send(const std::string& unit,
                            const std::vector<UnitProperty>& properties,
                            Done done) {
  if (!connection) {
    asio::post(ex, [unit, done = std::move(done)] {
      done(Error{Errc::kBusy, unit + ": no connection to systemd"});
    });
    return;
  }
  const Message m{connection->new_call(kManager, "SetUnitProperties")};
  const bool filled = fill(m.get(), unit, properties);
  connection->call(filled ? m.get() : nullptr,
                   options.timeout,
                   [unit, done = std::move(done)](const Result<sd_bus_message*>& reply) {
                     Result<void> out;
                     if (!reply) out = wrap(unit + ": SetUnitProperties", reply.error());
                     done(out);
                   });
}

void SystemdBus::set(const std::string& unit,
                     const std::vector<UnitProperty>& properties,
                     Done done) {
  if (!impl_->connection || !unit.ends_with(".slice")) {
    impl_->send(unit, properties, std::move(done));
    return;
  }
  // A scope that ended is refused. A slice would be made up from its name, and its drop-ins would
  // stay until the next boot: so it is asked for first.
  const Message m{impl_->connection->new_call(kManager, "GetUnit")};
  if (m != nullptr) sd_bus_message_append(m.get(), "s", unit.c_str());
  impl_->connection->call(m.get(),
                          impl_->options.timeout,
                          [weak = std::weak_ptr{impl_}, unit, properties, done = std::move(done)](
                              const Result<sd_bus_message*>& reply) {
                            const auto impl = weak.lock();
                            if (!reply || !impl) {
                              done(reply ? Error{Errc::kBusy, unit + ": the end"}
                                         : wrap(unit + ": GetUnit", reply.error()));
                              return;
                            }
                            impl->send(unit, properties, done);
                          });
}

void SystemdBus::tidy(const std::string& unit, const std::vector<std::string_view>& settings) {
  static_cast<void>(remove_redundant_drop_ins(impl_->options.run, unit, settings));
}

}  // namespace koordlet::runtime
