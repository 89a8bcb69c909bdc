#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "model/pod.hpp"
#include "policy/prediction.hpp"

namespace koordlet::predict {

/// Keys are the same after a restart: "node", "system", "class/<name>", "pod/<uid>".
inline constexpr std::string_view kNodeKey = "node";
inline constexpr std::string_view kSystemKey = "system";
inline constexpr std::string_view kClassPrefix = "class/";
inline constexpr std::string_view kPodPrefix = "pod/";
inline constexpr PriorityClass kClasses[] = {PriorityClass::kProd,
                                             PriorityClass::kMid,
                                             PriorityClass::kBatch,
                                             PriorityClass::kFree,
                                             PriorityClass::kNone};
std::string class_key(PriorityClass c);  ///< "class/prod", ..., "class/none"
std::string pod_key(std::string_view uid);
/// The uid of a pod's key; "" for any other.
std::string_view pod_of(std::string_view key);
/// A key of one of the forms above.
bool is_key(std::string_view key);

/// Cores and bytes of one subject.
struct Model {
  Model(const policy::ForecastConfig& cpu_config, const policy::ForecastConfig& memory_config)
      : cpu{cpu_config}, memory{memory_config} {}

  policy::Forecaster cpu, memory;
  MonoTime updated;      ///< when it was last fed, made or loaded
  MonoTime saved;        ///< when it was last written, made or loaded
  bool changed = false;  ///< since it was last written
  policy::Prediction shown;

  std::size_t bytes() const;
  /// Takes one value of each that is known. True: one of them forgot what it knew, for the clock
  /// went back or a day was missing.
  bool feed(policy::PredictTime at,
            const std::optional<double>& cores,
            const std::optional<double>& memory_bytes);
  void show();  ///< fills `shown` from the forecasters
};

/// CPU in cores and memory in bytes over `window`, a multiple of 300 s up to a day.
policy::ForecastConfig cpu_config(std::chrono::seconds window);
policy::ForecastConfig memory_config(std::chrono::seconds window);

}  // namespace koordlet::predict
