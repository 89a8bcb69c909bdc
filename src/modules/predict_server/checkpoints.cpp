#include <algorithm>

#include <fmt/format.h>

#include "base/log.hpp"
#include "modules/predict_server/impl.hpp"
#include "modules/predict_server/model_codec.hpp"

namespace koordlet {
namespace {

namespace asio = boost::asio;

constexpr std::string_view kSubject = "predict";
constexpr std::string_view kRows = "predict/";
// A commit of so many rows of a few KB keeps the storage thread for about a millisecond; reading
// and decoding fewer keeps the loop below that.
constexpr std::size_t kRowsInBatch = 64, kRowsRead = 16;
constexpr std::size_t kLeastInRound = 12;
constexpr std::chrono::seconds kRound{60};

struct Row {
  std::string key;
  Result<std::optional<std::string>> text;
};

std::vector<Row> read_rows(store::LmdbEnv& env, const std::vector<std::string>& names) {
  std::vector<Row> out;
  store::Checkpoints rows{env};
  for (const auto& name : names) out.push_back({name.substr(kRows.size()), rows.get(name)});
  return out;
}

}  // namespace

std::string PredictServer::Impl::row_name(std::string_view key) {
  return std::string{kRows}.append(key);
}

Result<void> PredictServer::Impl::adopt(const std::string& key,
                                        std::string_view row,
                                        MonoTime now) {
  if (!predict::is_key(key))
    return Error{Errc::kParse, "expected the name of a node, class, system or pod"};
  auto* model = model_of(key, now);
  if (model == nullptr) return Error{Errc::kRange, "there are too many models"};
  auto read = predict::decode_model(row, *model);
  if (!read) {
    models.erase(key);
    return read;
  }
  model->show();
  ++status.restored;
  return {};
}

asio::awaitable<void> PredictServer::load() {
  auto& s = *impl_;
  auto* env = &s.state_env;
  auto names =
      co_await s.storage.run([env] { return store::Checkpoints{*env}.names(std::string{kRows}); });
  if (!names) {
    log::warn(kSubject, fmt::format("{}: learning anew, ignoring", names.error().context));
    co_return;
  }
  std::string first_fault;
  for (std::size_t from = 0; from < names->size(); from += kRowsRead) {
    const auto to = std::min(names->size(), from + kRowsRead);
    const auto begin = names->begin();
    std::vector<std::string> chunk{begin + static_cast<std::ptrdiff_t>(from),
                                   begin + static_cast<std::ptrdiff_t>(to)};
    // Named first: a temporary that owns memory would be destroyed twice.
    auto job = [env, chunk = std::move(chunk)] { return read_rows(*env, chunk); };
    const auto rows = co_await s.storage.run(std::move(job));
    for (const auto& row : rows) {
      Result<void> read;
      if (!row.text) {
        read = row.text.error();
      } else if (*row.text) {
        read = s.adopt(row.key, **row.text, s.clock.now());
      }
      if (read) continue;
      ++s.status.cold_rows;
      if (first_fault.empty()) first_fault = fmt::format("{}: {}", row.key, read.error().context);
      s.erased.push_back({Impl::row_name(row.key), std::nullopt});
    }
  }
  if (s.status.cold_rows > 0)
    log::warn(kSubject,
              fmt::format("{} of {} saved models cannot be used and begin anew; the first is {}",
                          s.status.cold_rows,
                          names->size(),
                          first_fault));
}

/// The longest unwritten first. None while the storage thread is behind: rows would pile up.
std::vector<PredictServer::Impl::Models::iterator> PredictServer::Impl::due_rows(MonoTime now) {
  std::vector<Models::iterator> out;
  if (saves->waiting > 1) return out;
  for (auto at = models.begin(); at != models.end(); ++at) {
    const auto& m = at->second;
    if (m.changed && now - m.saved >= config.checkpoint_interval) out.push_back(at);
  }
  const auto rounds = std::max<std::int64_t>(1, config.checkpoint_interval / kRound);
  const auto most = std::max(kLeastInRound, models.size() / static_cast<std::size_t>(rounds) + 1);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a->second.saved < b->second.saved;
  });
  if (out.size() > most) out.resize(most);
  return out;
}

void PredictServer::Impl::hand_over(Changes changes) {
  status.rows += changes.size();
  ++saves->waiting;
  storage.post([env = &state_env, shared = saves, changes = std::move(changes)] {
    const auto saved = store::Checkpoints{*env}.apply(changes);
    --shared->waiting;
    const bool failing = !saved.has_value();
    if (failing) ++shared->failures;
    if (failing && !shared->failing)
      log::warn(kSubject, fmt::format("{}, ignoring", saved.error().context));
    shared->failing = failing;
  });
}

void PredictServer::save_all() {
  auto& s = *impl_;
  Impl::Changes changes = std::exchange(s.erased, {});
  for (auto& [key, model] : s.models) {
    if (!model.changed) continue;
    changes.push_back({Impl::row_name(key), predict::encode_model(model)});
    model.changed = false;
    model.saved = s.clock.now();
    if (changes.size() >= kRowsInBatch) s.hand_over(std::exchange(changes, {}));
  }
  if (!changes.empty()) s.hand_over(std::move(changes));
}

}  // namespace koordlet
