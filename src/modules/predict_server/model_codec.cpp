#include "modules/predict_server/model_codec.hpp"

#include <array>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "store/bits.hpp"

namespace koordlet::predict {
namespace {

using policy::Forecaster;

constexpr std::uint8_t kVersion = 1;
constexpr float kUnknown = -1;  // a slot of PeakHistory

class Writer {
 public:
  explicit Writer(std::string& out) : out_{out} {}
  void whole(std::uint64_t v) { store::put_varint(out_, v); }
  void time(std::int64_t v) { store::put_varint(out_, store::zigzag(v)); }
  template <class T>
  void real(T v) {
    std::array<char, sizeof(T)> bytes;
    std::memcpy(bytes.data(), &v, sizeof v);
    out_.append(bytes.data(), bytes.size());
  }
  /// Entries that differ from `usual`, each behind the number of those between.
  template <class List, class T>
  void sparse(const List& values, T usual) {
    std::uint64_t count = 0, gap = 0;
    for (const T v : values) count += v != usual ? 1 : 0;
    whole(count);
    for (const T v : values) {
      if (v == usual) {
        ++gap;
        continue;
      }
      whole(gap);
      real(v);
      gap = 0;
    }
  }

 private:
  std::string& out_;
};

/// The first fault stops everything: later reads give zeros.
class Reader {
 public:
  explicit Reader(std::string_view from) : from_{from} {}
  std::uint64_t whole() {
    std::uint64_t v = 0;
    if (!ok_ || !store::get_varint(from_, v)) ok_ = false;
    return ok_ ? v : 0;
  }
  std::int64_t time() { return store::unzigzag(whole()); }
  template <class T>
  T real() {
    T v = 0;
    if (!ok_ || from_.size() < sizeof v) {
      ok_ = false;
      return 0;
    }
    std::memcpy(&v, from_.data(), sizeof v);
    from_.remove_prefix(sizeof v);
    return v;
  }
  template <class List, class T>
  void sparse(List& values, T usual) {
    for (auto& v : values) v = usual;
    const auto count = whole();
    std::size_t at = 0;
    for (std::uint64_t i = 0; ok_ && i < count; ++i) {
      const auto gap = whole();
      if (gap >= values.size() - at) ok_ = false;
      if (!ok_) return;
      at += static_cast<std::size_t>(gap);
      values[at++] = real<T>();
      if (at == values.size() && i + 1 < count) ok_ = false;
    }
  }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && from_.empty(); }

 private:
  std::string_view from_;
  bool ok_ = true;
};

void write_score(Writer& out, const policy::Score& s) {
  for (const double v : {s.windows,
                         s.violations,
                         s.shortfall,
                         s.over,
                         s.within,
                         s.pinball,
                         s.forecast_sum,
                         s.peak_sum})
    out.real(v);
}

policy::Score read_score(Reader& in) {
  policy::Score s;
  for (double* v : {&s.windows,
                    &s.violations,
                    &s.shortfall,
                    &s.over,
                    &s.within,
                    &s.pinball,
                    &s.forecast_sum,
                    &s.peak_sum})
    *v = in.real<double>();
  return s;
}

void write_series(Writer& out, const Forecaster& f) {
  const auto& s = f.state();
  out.whole(s.history.started() ? 1 : 0);
  if (!s.history.started()) return;
  out.whole(static_cast<std::uint64_t>(f.config().horizon.count()));
  out.whole(static_cast<std::uint64_t>(f.config().slot.count()));
  out.time(s.since.count());
  out.time(s.histogram.reference().count());
  out.sparse(s.histogram.weights(), 0.0);
  const auto& h = s.history.save();
  out.time(h.newest);
  out.time(h.last_at_s);
  out.time(h.day);
  out.sparse(h.slots, kUnknown);
  out.sparse(h.days, kUnknown);
  for (const auto& rule : s.rules) {
    out.sparse(rule.ratios.weights(), 0.0F);
    out.real(rule.loss);
    out.real(rule.scored);
  }
  write_score(out, s.score);
}

bool is_amount(double v) { return std::isfinite(v) && v >= 0; }

/// `over` may be below 0: forecasts that were too low.
bool is_sound(const policy::Score& s) {
  return is_amount(s.windows) && is_amount(s.violations) && is_amount(s.shortfall) &&
         std::isfinite(s.over) && is_amount(s.within) && is_amount(s.pinball) &&
         is_amount(s.forecast_sum) && is_amount(s.peak_sum);
}

Error fault(std::string_view series, std::string_view what) {
  return {Errc::kParse, fmt::format("{}: expected {}", series, what)};
}

bool read_rule(Reader& in, Forecaster::RuleState& rule) {
  std::array<float, policy::RatioHistogram::kBuckets> ratios{};
  in.sparse(ratios, 0.0F);
  rule.loss = in.real<float>();
  rule.scored = in.real<float>();
  return in.ok() && rule.ratios.load(ratios) && is_amount(rule.loss) && is_amount(rule.scored);
}

Result<void> read_series(Reader& in, std::string_view name, Forecaster& f) {
  const auto started = in.whole();
  if (!in.ok() || started > 1) return fault(name, "a mark whether anything was seen");
  if (started == 0) return {};
  const auto horizon = in.whole(), slot = in.whole();
  auto state = f.state();
  state.since = policy::PredictTime{in.time()};
  const policy::PredictTime reference{in.time()};
  std::vector<double> weights(state.histogram.weights().size());
  in.sparse(weights, 0.0);
  if (!in.ok()) return fault(name, "a histogram");
  if (const auto ok = state.histogram.load(reference, weights); !ok) return wrap(name, ok.error());
  policy::PeakHistory::Saved history;
  history.newest = in.time();
  history.last_at_s = in.time();
  history.day = in.time();
  in.sparse(history.slots, kUnknown);
  in.sparse(history.days, kUnknown);
  if (!in.ok() || slot != static_cast<std::uint64_t>(f.config().slot.count()) ||
      !state.history.load(history))
    return fault(name, fmt::format("peaks in slots of {} s", f.config().slot.count()));
  if (state.since.count() < 0 || state.since.count() > history.last_at_s)
    return fault(name, "a first observation before the last one");
  for (auto& rule : state.rules) {
    if (!read_rule(in, rule)) return fault(name, "margins of its rules");
  }
  state.score = read_score(in);
  if (!in.ok() || !is_sound(state.score)) return fault(name, "a score");
  if (horizon != static_cast<std::uint64_t>(f.config().horizon.count())) {
    state.rules = {};
    state.score = {};
  }
  f.restore(std::move(state));
  return {};
}

}  // namespace

std::string encode_model(const Model& model) {
  std::string out;
  out.reserve(8192);
  out += static_cast<char>(kVersion);
  Writer writer{out};
  write_series(writer, model.cpu);
  write_series(writer, model.memory);
  return out;
}

Result<void> decode_model(std::string_view row, Model& model) {
  if (row.empty()) return fault("row", "a version");
  const auto version = static_cast<std::uint8_t>(row.front());
  if (version != kVersion)
    return Error{Errc::kNotSupported,
                 fmt::format("format {}: expected format {}", version, kVersion)};
  Reader reader{row.substr(1)};
  if (auto ok = read_series(reader, "cpu", model.cpu); !ok) return ok;
  if (auto ok = read_series(reader, "memory", model.memory); !ok) return ok;
  if (!reader.at_end()) return fault("row", "an end behind memory");
  return {};
}

}  // namespace koordlet::predict
