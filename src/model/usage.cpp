#include "model/usage.hpp"

namespace koordlet {

std::string_view to_string(CounterSource s) {
  switch (s) {
    case CounterSource::kNone:
      return "none";
    case CounterSource::kIterator:
      return "iterator";
    case CounterSource::kFiles:
      return "files";
    case CounterSource::kCri:
      return "cri";
    case CounterSource::kDocker:
      break;
  }
  return "docker";
}

}  // namespace koordlet
