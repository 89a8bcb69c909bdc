#include "modules/resource_executor/journal_writer.hpp"

#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

namespace koordlet::executor {
namespace {

namespace asio = boost::asio;

/// Shared by the waiting coroutine and the job; both fields belong to the loop thread.
template <class T>
struct Call {
  std::optional<Result<T>> result;
  std::function<void()> wake;
};

/// The waiter may leave first, by time or by cancellation: then nobody is woken.
template <class T>
struct Waiter {
  std::shared_ptr<Call<T>> call;
  ~Waiter() { call->wake = nullptr; }
};

template <class T>
Result<T> guarded(const std::function<Result<T>()>& job) {
  try {
    return job();
  } catch (const std::exception& e) {
    return Error{Errc::kIo, fmt::format("journal: {}", e.what())};
  }
}

template <class T>
asio::awaitable<Result<T>> run_on(reactor::Worker* storage,
                                  std::shared_ptr<int> in_flight,
                                  std::function<Result<T>()> job,
                                  std::chrono::milliseconds wait) {
  if (storage == nullptr) co_return guarded(job);
  if (*in_flight > 0) co_return Error{Errc::kBusy, "journal: an earlier call still runs"};
  const asio::any_io_executor loop = co_await asio::this_coro::executor;
  const Waiter<T> waiter{std::make_shared<Call<T>>()};
  asio::steady_timer timer{loop, wait};
  waiter.call->wake = [&timer] { timer.cancel(); };
  ++*in_flight;
  storage->post([loop, in_flight, call = waiter.call, job = std::move(job)]() mutable {
    auto done = [in_flight, call, result = guarded(job)]() mutable {
      --*in_flight;
      call->result.emplace(std::move(result));
      if (call->wake) call->wake();
    };
    asio::post(loop, std::move(done));
  });
  co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  if (!waiter.call->result) {
    co_return Error{Errc::kBusy, fmt::format("journal: no answer in {} ms", wait.count())};
  }
  co_return std::move(*waiter.call->result);
}

}  // namespace

JournalWriter::JournalWriter(store::Journal* journal, reactor::Worker* storage)
    : journal_{journal}, storage_{storage} {}

asio::awaitable<Result<void>> JournalWriter::commit(std::vector<store::JournalEntry> put,
                                                    std::vector<CgroupKey> erase) {
  if (journal_ == nullptr || (put.empty() && erase.empty())) co_return Result<void>{};
  std::function<Result<void>()> job =
      [journal = journal_, put = std::move(put), erase = std::move(erase)] {
        return journal->commit(put, erase);
      };
  co_return co_await run_on<void>(storage_, in_flight_, std::move(job), kCommitWait);
}

asio::awaitable<Result<std::vector<store::JournalEntry>>> JournalWriter::load() {
  using Entries = std::vector<store::JournalEntry>;
  if (journal_ == nullptr) co_return Entries{};
  std::function<Result<Entries>()> job = [journal = journal_] { return journal->load(); };
  co_return co_await run_on<Entries>(storage_, in_flight_, std::move(job), kLoadWait);
}

void JournalWriter::erase_later(std::vector<CgroupKey> keys) {
  if (journal_ == nullptr || keys.empty()) return;
  auto job = [journal = journal_, keys = std::move(keys)] {
    // A row that stays is found untouched at the next start and dropped there: ignoring.
    const auto erased = guarded<void>([&] { return journal->commit({}, keys); });
    static_cast<void>(erased);
  };
  if (storage_ == nullptr) {
    job();
  } else {
    storage_->post(std::move(job));
  }
}

}  // namespace koordlet::executor
