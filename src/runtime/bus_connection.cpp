#include "runtime/bus_connection.hpp"

#include <array>
#include <cerrno>
#include <unistd.h>
#include <utility>

#include <boost/asio/post.hpp>
#include <fmt/format.h>

namespace koordlet::runtime {
namespace {

namespace asio = boost::asio;

constexpr const char* kDestination = "org.freedesktop.systemd1";
constexpr const char* kManagerPath = "/org/freedesktop/systemd1";
constexpr int kMessagesATurn = 64;  // then the loop has its turn
constexpr std::size_t kMaxErrorText = 200;

/// A path as a D-Bus address spells it.
std::string address_of(const std::string& path) {
  std::string out = "unix:path=";
  for (const char c : path) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '/' || c == '.' || c == '-' || c == '_';
    out += plain ? std::string{c} : fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

/// Text of the peer, for one line.
std::string cut(const char* text) {
  std::string out{text == nullptr ? "" : text};
  if (out.size() > kMaxErrorText) out.resize(kMaxErrorText);
  for (auto& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return out;
}

}  // namespace

Errc bus_error_code(std::string_view name) {
  constexpr std::string_view kSystemd = "org.freedesktop.systemd1.";
  constexpr std::string_view kBus = "org.freedesktop.DBus.Error.";
  if (name.starts_with(kSystemd)) {
    return name.substr(kSystemd.size()) == "NoSuchUnit" ? Errc::kNotFound : Errc::kInvalid;
  }
  if (!name.starts_with(kBus)) return Errc::kInvalid;
  const auto kind = name.substr(kBus.size());
  constexpr std::array kDenied{"AccessDenied", "AuthFailed", "InteractiveAuthorizationRequired"};
  constexpr std::array kBusy{"NoReply",
                             "Timeout",
                             "TimedOut",
                             "Disconnected",
                             "NoServer",
                             "ServiceUnknown",
                             "NameHasNoOwner",
                             "LimitsExceeded",
                             "NoMemory"};
  for (const std::string_view k : kDenied) {
    if (kind == k) return Errc::kDenied;
  }
  for (const std::string_view k : kBusy) {
    if (kind == k) return Errc::kBusy;
  }
  return Errc::kInvalid;
}

BusConnection::BusConnection(const asio::any_io_executor& ex, std::string socket)
    : socket_{std::move(socket)}, fd_{ex}, timer_{ex} {}

BusConnection::~BusConnection() {
  // The loop may be at its end: nothing is posted any more.
  for (auto& p : pending_) sd_bus_slot_unref(p.slot);
  pending_.clear();
  close();
}

Result<std::shared_ptr<BusConnection>> BusConnection::open(const asio::any_io_executor& ex,
                                                           const std::string& socket,
                                                           Peer peer) {
  if (::access(socket.c_str(), F_OK) != 0) return errno_error(errno, socket, "find");
  auto out = std::make_shared<BusConnection>(ex, socket);
  const auto started = out->start(peer);
  if (!started) return started.error();
  return out;
}

Result<void> BusConnection::start(Peer peer) {
  const auto step = [&](int r) { return r < 0 ? -r : 0; };
  int err = step(sd_bus_new(&bus_));
  if (err == 0) err = step(sd_bus_set_address(bus_, address_of(socket_).c_str()));
  if (err == 0 && peer == Peer::kSystemBus) err = step(sd_bus_set_bus_client(bus_, 1));
  if (err == 0) err = step(sd_bus_start(bus_));
  int fd = -1;
  if (err == 0) {
    fd = sd_bus_get_fd(bus_);
    err = step(fd);
  }
  if (err == 0) {
    boost::system::error_code ec;
    fd_.assign(fd, ec);
    err = ec.value();
  }
  if (err == ECONNREFUSED) {
    close();
    return Error{Errc::kBusy, socket_ + ": nobody listens"};
  }
  if (err != 0) {
    close();
    return errno_error(err, socket_, "connect");
  }
  arm();
  return {};
}

void BusConnection::close() {
  auto* bus = std::exchange(bus_, nullptr);
  timer_.cancel();
  if (fd_.is_open()) fd_.release();  // sd-bus closes it
  auto pending = std::exchange(pending_, {});
  for (auto& p : pending) {
    sd_bus_slot_unref(p.slot);
    fail_later(std::move(p.reply), {Errc::kBusy, socket_ + ": the connection was closed"});
  }
  if (bus == nullptr) return;
  sd_bus_close(bus);
  sd_bus_unref(bus);
}

void BusConnection::fail_later(Reply reply, Error error) {
  asio::post(timer_.get_executor(), [reply = std::move(reply), error = std::move(error)] {
    if (reply) reply(error);
  });
}

void BusConnection::broken(int err) {
  if (bus_ == nullptr) return;
  const auto error = err == ECONNRESET || err == ENOTCONN
                         ? Error{Errc::kBusy, socket_ + ": the connection was lost"}
                         : errno_error(err, socket_, "talk to systemd");
  const auto handler = std::exchange(lost_, nullptr);
  close();
  if (handler) handler(error);
}

void BusConnection::drive() {
  const auto self = shared_from_this();  // a reply may drop the last owner
  for (int i = 0; i < kMessagesATurn && bus_ != nullptr; ++i) {
    const int r = sd_bus_process(bus_, nullptr);
    if (bus_ == nullptr) return;
    if (r < 0) return broken(-r);
    if (r == 0) return arm();
  }
  asio::post(timer_.get_executor(), [weak = weak_from_this()] {
    if (const auto again = weak.lock()) again->drive();
  });
}

void BusConnection::arm() {
  if (bus_ == nullptr) return;
  const int events = sd_bus_get_events(bus_);
  if (events < 0) return broken(-events);
  const auto watch = [&](bool& armed, asio::posix::descriptor_base::wait_type what) {
    if (armed) return;
    armed = true;
    fd_.async_wait(what, [weak = weak_from_this(), &armed](const boost::system::error_code& ec) {
      const auto self = weak.lock();
      if (!self) return;
      armed = false;
      if (ec != asio::error::operation_aborted) self->drive();
    });
  };
  if ((events & POLLIN) != 0) watch(reading_, asio::posix::descriptor_base::wait_read);
  if ((events & POLLOUT) != 0) watch(writing_, asio::posix::descriptor_base::wait_write);
  arm_timer();
}

void BusConnection::arm_timer() {
  std::uint64_t due = UINT64_MAX;
  if (sd_bus_get_timeout(bus_, &due) < 0) due = UINT64_MAX;
  if (due == deadline_us_) return;
  deadline_us_ = due;
  timer_.cancel();
  if (due == UINT64_MAX) return;
  // CLOCK_MONOTONIC on both sides; a time beyond it all would overflow.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 52;
  timer_.expires_at(asio::steady_timer::time_point{
      std::chrono::microseconds{static_cast<std::int64_t>(std::min(due, kMost))}});
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& ec) {
    const auto self = weak.lock();
    if (!self || ec) return;
    self->deadline_us_ = UINT64_MAX;
    self->drive();
  });
}

sd_bus_message* BusConnection::new_call(const char* interface, const char* method) {
  sd_bus_message* out = nullptr;
  if (bus_ == nullptr) return nullptr;
  const int r =
      sd_bus_message_new_method_call(bus_, &out, kDestination, kManagerPath, interface, method);
  return r < 0 ? nullptr : out;
}

void BusConnection::call(sd_bus_message* message, std::chrono::milliseconds timeout, Reply reply) {
  if (bus_ == nullptr || message == nullptr) {
    return fail_later(std::move(reply), {Errc::kBusy, socket_ + ": no connection"});
  }
  pending_.push_front({this, std::move(reply), nullptr, {}});
  auto& p = pending_.front();
  p.place = pending_.begin();
  const auto limit = std::chrono::duration_cast<std::chrono::microseconds>(timeout).count();
  const int r = sd_bus_call_async(
      bus_, &p.slot, message, &BusConnection::on_reply, &p, static_cast<std::uint64_t>(limit));
  if (r < 0) {
    fail_later(std::move(p.reply), errno_error(-r, socket_, "call systemd"));
    pending_.pop_front();
    return;
  }
  arm();
}

int BusConnection::on_reply(sd_bus_message* message, void* data, sd_bus_error*) {
  auto& p = *static_cast<Pending*>(data);
  auto* self = p.self;
  const auto reply = std::move(p.reply);
  sd_bus_slot_unref(p.slot);  // sd-bus holds one of its own during the call
  self->pending_.erase(p.place);
  const auto* error = sd_bus_message_get_error(message);
  if (error == nullptr) {
    reply(message);
  } else {
    const auto name = cut(error->name);
    const auto text =
        error->message == nullptr || *error->message == '\0' ? name : cut(error->message);
    reply(Error{bus_error_code(name), text});
  }
  return 1;
}

}  // namespace koordlet::runtime
