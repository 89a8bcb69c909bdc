#include "modules/predict_server/predict_server.hpp"

#include <algorithm>
#include <ctime>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "base/log.hpp"
#include "modules/predict_server/impl.hpp"
#include "modules/predict_server/model_codec.hpp"

namespace koordlet {
namespace {

namespace asio = boost::asio;
using std::chrono::microseconds;
using Steady = std::chrono::steady_clock;

constexpr auto kSlice = microseconds{1000};  // work between two yields to the loop
// Twice the pods of a large node, for those that are gone and have not expired.
constexpr std::size_t kMostModels = 2048;

/// CPU time of this thread: what others on a busy machine take is no work of a round.
std::chrono::nanoseconds thread_time() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
}

/// Counts the work of one round and says when to let others run.
class Slices {
 public:
  bool is_over() const { return Steady::now() - start_ >= kSlice; }
  void close() {
    const auto took = std::chrono::duration_cast<microseconds>(thread_time() - before_);
    worked_ += took;
    longest_ = std::max(longest_, took);
  }
  void open() {
    start_ = Steady::now();
    before_ = thread_time();
  }
  microseconds worked() const { return worked_; }
  microseconds longest() const { return longest_; }

 private:
  Steady::time_point start_ = Steady::now();
  std::chrono::nanoseconds before_ = thread_time();
  microseconds worked_{0}, longest_{0};
};

asio::awaitable<void> pause(Slices& slices) {
  slices.close();
  co_await asio::post(asio::use_awaitable);
  slices.open();
}

}  // namespace

policy::PredictTime PredictServer::Impl::stored_time(MonoTime now) const {
  return std::chrono::floor<std::chrono::seconds>(now.time_since_epoch() + anchor);
}

predict::Model* PredictServer::Impl::model_of(const std::string& key, MonoTime now) {
  const auto at = models.find(key);
  if (at != models.end()) return &at->second;
  if (models.size() >= kMostModels) {
    ++status.refused;
    return nullptr;
  }
  auto& made =
      models
          .try_emplace(
              key, predict::cpu_config(config.window), predict::memory_config(config.window))
          .first->second;
  made.updated = made.saved = now;
  return &made;
}

/// Models of pods that are gone or have ended; the node's and the classes' stay.
void PredictServer::Impl::expire(const NodeState& state, MonoTime now) {
  if (state.pods_at == MonoTime{}) return;
  for (auto at = models.begin(); at != models.end();) {
    const auto uid = predict::pod_of(at->first);
    const auto* pod = uid.empty() ? nullptr : find_pod(state, uid);
    const bool ended = !uid.empty() && (pod == nullptr || !is_active(*pod));
    if (!ended || now - at->second.updated <= config.expiry) {
      ++at;
      continue;
    }
    ++status.expired;
    erased.push_back({row_name(at->first), std::nullopt});
    at = models.erase(at);
  }
}

PredictServer::PredictServer(Config config,
                             reactor::Worker& storage,
                             store::LmdbEnv& state,
                             const Clock& clock)
    : impl_{std::make_unique<Impl>(std::move(config), storage, state, clock)} {}

PredictServer::~PredictServer() = default;

void PredictServer::note_node(const NodeSignals& signals) { impl_->intake.note_node(signals); }

void PredictServer::note_pods(const std::map<std::string, PodUsage>& pods) {
  impl_->intake.note_pods(pods);
}

asio::awaitable<void> PredictServer::round(std::shared_ptr<const NodeState> state) {
  auto& s = *impl_;
  Slices slices;
  const auto now = s.clock.now();
  const auto at = s.stored_time(now);
  std::size_t restarted = 0;
  for (const auto& feed : s.intake.take(*state, now, s.config.pod_usage_valid)) {
    if (slices.is_over()) co_await pause(slices);
    auto* model = s.model_of(feed.key, now);
    if (model == nullptr) continue;
    restarted += model->feed(at, feed.cores, feed.bytes) ? 1 : 0;
    model->updated = now;
    model->show();
  }
  s.status.restarted += restarted;
  if (restarted > 0)
    log::warn(
        "predict",
        fmt::format("{} models forget what they knew: the clock went back or a day is missing",
                    restarted));
  s.expire(*state, now);
  Impl::Changes changes = std::exchange(s.erased, {});
  for (const auto& due : s.due_rows(now)) {
    if (slices.is_over()) co_await pause(slices);
    auto& [key, model] = *due;
    changes.push_back({Impl::row_name(key), predict::encode_model(model)});
    model.saved = now;
    model.changed = false;
  }
  if (!changes.empty()) s.hand_over(std::move(changes));
  slices.close();
  ++s.status.rounds;
  s.status.last_round = slices.worked();
  s.status.longest_slice = std::max(s.status.longest_slice, slices.longest());
}

const policy::Prediction* PredictServer::find(std::string_view key) const {
  const auto at = impl_->models.find(key);
  return at == impl_->models.end() ? nullptr : &at->second.shown;
}

void PredictServer::for_each(const Visit& visit) const {
  for (const auto& [key, model] : impl_->models) visit(key, model.shown);
}

PredictServer::Status PredictServer::status() const {
  auto out = impl_->status;
  out.models = impl_->models.size();
  for (const auto& [key, model] : impl_->models) out.bytes += model.shown.bytes;
  out.save_failures = impl_->saves->failures;
  out.save_failing = impl_->saves->failing;
  return out;
}

const PredictServer::Config& PredictServer::config() const { return impl_->config; }

}  // namespace koordlet
