#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <boost/json/value.hpp>

namespace koordlet::k8s {

/// Why a server does not do what was asked: the status of an answer, or the Status object of an
/// ERROR event.
struct Refusal {
  unsigned status = 0;             ///< 0: unknown
  bool expired = false;            ///< 410: the version or the continue token is too old
  bool version_too_large = false;  ///< the server has not seen that version (yet)
  std::optional<std::chrono::seconds> retry_after;
  std::string text;  ///< for messages
};

/// `body` is a Status object, or anything else that came instead. Status 0: taken from the body.
Refusal read_refusal(unsigned status,
                     boost::json::value body,
                     std::optional<std::chrono::seconds> retry_after);

}  // namespace koordlet::k8s
