#include "k8s/amounts.hpp"

#include "k8s/quantity.hpp"

namespace koordlet::k8s {
namespace {

template <class T>
std::optional<T> amount(const Fields& list,
                        std::string_view key,
                        Result<T> (*parse)(std::string_view)) {
  const auto* v = list.find(key);
  if (v == nullptr) return std::nullopt;
  const auto text = quantity_text(*v);
  if (!text) {
    list.refuse(key, *v, "a quantity");
    return std::nullopt;
  }
  const auto read = parse(*text);
  if (!read) {
    list.refuse(key, read.error().context);
    return std::nullopt;
  }
  if (read->v >= 0) return *read;
  list.refuse(key, *v, "0 or more");
  return std::nullopt;
}

Result<MilliCpu> parse_milli(std::string_view text) {
  const auto v = parse_integer(text);
  if (!v) return v.error();
  return MilliCpu{*v};
}

}  // namespace

std::optional<MilliCpu> cpu_amount(const Fields& list, std::string_view key) {
  return amount<MilliCpu>(list, key, parse_cpu);
}
std::optional<MilliCpu> milli_amount(const Fields& list, std::string_view key) {
  return amount<MilliCpu>(list, key, parse_milli);
}
std::optional<Bytes> memory_amount(const Fields& list, std::string_view key) {
  return amount<Bytes>(list, key, parse_memory);
}

}  // namespace koordlet::k8s
