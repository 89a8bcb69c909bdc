#include "modules/status_api/series_page.hpp"

#include <algorithm>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace koordlet::status_api {
namespace {

namespace asio = boost::asio;
// Kind, owner, a time of up to 20 digits, and what divides them.
static_assert(2 * store::kMaxSeriesText + 20 + 2 <= kMaxTokenText);
constexpr std::size_t kSlice = 1024;  ///< series looked at between two yields: below 0.5 ms

}  // namespace

std::string series_name(const store::SeriesKey& series) {
  return series.kind + '\0' + series.owner;
}

store::SeriesKey series_named(std::string_view name) {
  const auto cut = std::min(name.find('\0'), name.size());
  return {std::string{name.substr(0, cut)},
          std::string{name.substr(std::min(cut + 1, name.size()))}};
}

asio::awaitable<SeriesPage> select_series(std::vector<store::SeriesKey> all,
                                          MetricSelector selector,
                                          std::optional<PageStart> start,
                                          std::size_t limit) {
  SeriesPage out;
  std::vector<store::SeriesKey*> candidates;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % kSlice == kSlice - 1) co_await asio::post(asio::use_awaitable);
    auto& key = all[i];
    if (!selector.selects(key.kind, key.owner)) continue;
    ++out.matched;
    if (start && (key < start->series || (key == start->series && !start->with_it))) {
      ++out.before;
    } else {
      candidates.push_back(&key);
    }
  }
  const auto end =
      candidates.begin() + static_cast<std::ptrdiff_t>(std::min(limit, candidates.size()));
  std::partial_sort(candidates.begin(), end, candidates.end(), [](const auto* a, const auto* b) {
    return *a < *b;
  });
  for (auto at = candidates.begin(); at != end; ++at) out.series.push_back(std::move(**at));
  co_return out;
}

}  // namespace koordlet::status_api
