#include "k8s/reflector.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include "k8s/answer_reader.hpp"
#include "k8s/line_splitter.hpp"
#include "k8s/list_page.hpp"
#include "k8s/paced_json.hpp"
#include "k8s/reflector_core.hpp"
#include "reactor/task_group.hpp"

namespace koordlet::k8s {
namespace asio = boost::asio;
namespace json = boost::json;
using reactor::use_ec;
namespace {

ReflectorCore::Options core_options(const Reflector::Resource& resource,
                                    const Reflector::Options& options,
                                    bool not_found_is_empty) {
  ReflectorCore::Options out;
  out.page = options.page;
  out.field_selector = resource.field_selector;
  out.watch_min = options.watch_min;
  out.watch_max = options.watch_max;
  out.backoff_min = options.backoff_min;
  out.backoff_max = options.backoff_max;
  out.not_found_is_empty = not_found_is_empty;
  out.seed = std::random_device{}();
  return out;
}

}  // namespace

struct Reflector::Impl {
  Impl(asio::any_io_executor ex,
       ApiClient& a,
       Resource r,
       Sink s,
       Options o,
       const Clock& c,
       bool not_found_is_empty)
      : executor{std::move(ex)},
        api{a},
        resource{std::move(r)},
        sink{std::move(s)},
        options{o},
        clock{c},
        core{core_options(resource, options, not_found_is_empty)} {}

  asio::awaitable<void> run();
  asio::awaitable<void> follow();
  asio::awaitable<void> wait(std::chrono::milliseconds time);
  asio::awaitable<void> list(std::string query);
  asio::awaitable<void> stage(ListPage& page, Pace& pace);
  asio::awaitable<void> watch(std::string query);
  asio::awaitable<bool> take_lines(LineSplitter& lines, Pace& pace);
  asio::awaitable<bool> take_line(std::string_view line, Pace& pace);
  void settle(ReflectorCore::PageEffect effect);
  void abandon();
  std::string say(std::string_view what, const Error& error) const {
    auto text = fmt::format("{}: {}", what, error.context);
    api.hide_token(text);
    return text;
  }

  asio::any_io_executor executor;
  ApiClient& api;
  Resource resource;
  Sink sink;
  Options options;
  const Clock& clock;
  ReflectorCore core;
  bool staged = false;  ///< the sink holds objects of a list that is not whole
};

void Reflector::Impl::abandon() {
  if (std::exchange(staged, false)) sink.abandon();
}

void Reflector::Impl::settle(ReflectorCore::PageEffect effect) {
  using Effect = ReflectorCore::PageEffect;
  switch (effect) {
    case Effect::kMore:
    case Effect::kKeep:
      return;
    case Effect::kAbandon:
      abandon();
      return;
    case Effect::kEmpty:
      abandon();
      sink.commit();
      return;
    case Effect::kCommit:
      staged = false;
      sink.commit();
      return;
  }
}

asio::awaitable<void> Reflector::Impl::run() {
  std::exception_ptr failure;
  try {
    co_await follow();
  } catch (...) {
    failure = std::current_exception();
  }
  abandon();
  if (failure) std::rethrow_exception(failure);
}

asio::awaitable<void> Reflector::Impl::follow() {
  for (;;) {
    auto step = core.next();
    if (step.delay.count() > 0) co_await wait(step.delay);
    const auto state = co_await asio::this_coro::cancellation_state;
    if (reactor::is_stopped(state)) co_return;
    if (step.action == ReflectorCore::Action::kList) {
      co_await list(std::move(step.query));
    } else {
      co_await watch(std::move(step.query));
    }
  }
}

asio::awaitable<void> Reflector::Impl::wait(std::chrono::milliseconds time) {
  asio::steady_timer timer{executor, time};
  co_await timer.async_wait(use_ec);
}

asio::awaitable<void> Reflector::Impl::stage(ListPage& page, Pace& pace) {
  for (auto& item : page.items) {
    give_type(item, page);
    core.stage(item);
    staged = true;
    sink.stage(std::move(item));
    co_await pace.breathe();
  }
}

asio::awaitable<void> Reflector::Impl::list(std::string query) {
  auto stream = co_await api.open_stream(resource.path, std::move(query));
  if (!stream) {
    settle(core.page_failed(say("list", stream.error())));
    co_return;
  }
  if ((*stream)->head().status != 200) {
    auto refusal = co_await read_refused(**stream, options.list_silence);
    api.hide_token(refusal.text);
    settle(core.page_refused(refusal, clock.now()));
    co_return;
  }
  const PageBounds bounds{options.max_page, options.list_silence, options.list_timeout};
  Pace pace{executor, clock, options.slice};
  auto body = co_await read_page(**stream, bounds, pace);
  if (!body) {
    const auto why = say("list", body.error());
    const bool large = body.error().code == Errc::kRange;
    settle(large ? core.page_too_large(why) : core.page_failed(why));
    co_return;
  }
  auto page = take_page(std::move(*body));
  if (!page) {
    settle(core.page_failed(say("list", page.error())));
    co_return;
  }
  if (!page->resource_version.empty()) co_await stage(*page, pace);
  settle(core.page_read(page->resource_version, page->continue_token, clock.now()));
}

/// False: the watch is over, and the next step is decided.
asio::awaitable<bool> Reflector::Impl::take_line(std::string_view line, Pace& pace) {
  auto event = co_await parse_paced(line, pace);
  if (!event) {
    const auto why = say("watch", not_json(event.error(), line));
    core.watch_ended(ReflectorCore::End::kNotJson, why, clock.now());
    co_return false;
  }
  std::optional<Event> kind;
  switch (core.event(*event, clock.now())) {
    case ReflectorCore::EventEffect::kNone:
      break;
    case ReflectorCore::EventEffect::kAdded:
      kind = Event::kAdded;
      break;
    case ReflectorCore::EventEffect::kModified:
      kind = Event::kModified;
      break;
    case ReflectorCore::EventEffect::kDeleted:
      kind = Event::kDeleted;
      break;
    case ReflectorCore::EventEffect::kStop:
      co_return false;
  }
  if (kind) sink.apply(*kind, std::move(event->get_object()["object"]));
  co_await pace.breathe();
  co_return true;
}

asio::awaitable<bool> Reflector::Impl::take_lines(LineSplitter& lines, Pace& pace) {
  for (;;) {
    const auto line = lines.next();
    if (!line) {
      core.watch_ended(ReflectorCore::End::kLineTooLong, say("watch", line.error()), clock.now());
      co_return false;
    }
    if (!*line) co_return true;
    const bool more = co_await take_line(**line, pace);
    if (!more) co_return false;
  }
}

asio::awaitable<void> Reflector::Impl::watch(std::string query) {
  using End = ReflectorCore::End;
  auto stream = co_await api.open_stream(resource.path, std::move(query));
  if (!stream) {
    core.watch_failed(say("watch", stream.error()));
    co_return;
  }
  if ((*stream)->head().status != 200) {
    auto refusal = co_await read_refused(**stream, options.list_silence);
    api.hide_token(refusal.text);
    core.watch_refused(refusal);
    co_return;
  }
  core.watch_opened(clock.now());
  Pace pace{executor, clock, options.slice};
  LineSplitter lines{options.max_line};
  for (;;) {
    auto piece = co_await (*stream)->read(options.silence);
    if (!piece) {
      const auto end = piece.error().code == Errc::kBusy ? End::kSilent : End::kBroken;
      core.watch_ended(end, say("watch", piece.error()), clock.now());
      co_return;
    }
    if (piece->empty()) {
      const auto end = lines.left() == 0 ? End::kClean : End::kBroken;
      core.watch_ended(end, "watch: ended within a line", clock.now());
      co_return;
    }
    lines.add(std::move(*piece));
    const bool more = co_await take_lines(lines, pace);
    if (!more) co_return;
  }
}

Reflector::Reflector(asio::any_io_executor ex,
                     ApiClient& api,
                     Resource resource,
                     Sink sink,
                     Options options,
                     const Clock& clock,
                     bool not_found_is_empty)
    : impl_{std::make_unique<Impl>(std::move(ex),
                                   api,
                                   std::move(resource),
                                   std::move(sink),
                                   options,
                                   clock,
                                   not_found_is_empty)} {}

Reflector::~Reflector() = default;

asio::awaitable<void> Reflector::run() { return impl_->run(); }

const Reflector::Health& Reflector::health() const { return impl_->core.health(); }

}  // namespace koordlet::k8s
