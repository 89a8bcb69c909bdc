#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

namespace koordlet::status_api {

/// Series of a registry that follow a picture which is painted anew each time: begin(), set what
/// is there, end() drops what was not set. Names without the prefix; a name that Prometheus would
/// refuse, or that already stands for the other type, is left out. Who sets a series first in a
/// round keeps it.
class SeriesSet {
 public:
  explicit SeriesSet(prometheus::Registry& registry) : registry_{registry} {}

  /// `node` becomes a label of every series; "" leaves the label out.
  void begin(const std::string& node);
  /// nullopt: unknown, no series.
  void gauge(std::string_view name,
             std::string_view help,
             std::optional<double> value,
             const prometheus::Labels& labels = {});
  /// `value` is the total since start; a total that went back starts the series anew.
  void counter(std::string_view name,
               std::string_view help,
               double value,
               const prometheus::Labels& labels = {});
  void end();
  /// Text of all series, family by family: collecting the whole registry at once copies every
  /// label of every series first.
  void write(std::ostream& out) const;

 private:
  template <class T>
  struct Series {
    T* metric = nullptr;
    std::uint64_t seen = 0;
  };
  template <class T>
  struct Family {
    prometheus::Family<T>* family = nullptr;
    std::map<prometheus::Labels, Series<T>> series;
  };
  template <class T>
  using Families = std::map<std::string, Family<T>, std::less<>>;

  /// nullptr: already set in this round.
  template <class T>
  Series<T>* series(Families<T>& families,
                    std::string_view name,
                    std::string_view help,
                    const prometheus::Labels& labels);
  template <class T>
  void sweep(Families<T>& families);

  prometheus::Registry& registry_;
  std::uint64_t round_ = 0;
  std::string node_;
  Families<prometheus::Gauge> gauges_;
  Families<prometheus::Counter> counters_;
};

}  // namespace koordlet::status_api
