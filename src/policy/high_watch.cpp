#include "policy/high_watch.hpp"

namespace koordlet::policy {

HighWatch watch_high(HighWatch watch, bool high, MonoTime now, std::chrono::seconds after) {
  if (watch.high != high) {
    watch.high = high;
    watch.since = now;
  }
  if (now - watch.since >= after) watch.lasting = high;
  return watch;
}

}  // namespace koordlet::policy
