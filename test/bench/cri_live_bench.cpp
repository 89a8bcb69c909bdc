// What the CRI proxy and its hooks add on a real runtime. usage: bench_cri_live DIRECT PROXY IMAGE
// [CREATIONS] Version, and CreateContainer in one sandbox of its own, by turns through the
// runtime's socket and the proxy's. Nothing is started; all that it made is removed.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <unistd.h>

#include <fmt/format.h>

#include "bench/cri_calls.hpp"
#include "bench/report.hpp"
#include "unit/runtime/wire.hpp"

namespace {

using namespace koordlet;
using bench::CriCaller;
using bench::quantile;
using test::WireMessage;

constexpr int kVersions = 10'000, kWarm = 200;
constexpr std::uint64_t kNodeNetwork = 2;  // NamespaceMode NODE

WireMessage sandbox_config(const std::string& name) {
  const auto metadata = WireMessage{}.bytes(1, name).bytes(2, "uid-" + name).bytes(3, "bench");
  const auto network = WireMessage{}.part(1, WireMessage{}.number(1, kNodeNetwork));
  const auto lin = WireMessage{}.bytes(1, "/kubepods/besteffort").part(2, network);
  return WireMessage{}.part(1, metadata).entry(6, "koordinator.sh/qosClass", "BE").part(8, lin);
}

std::string creation(const std::string& sandbox,
                     const WireMessage& config,
                     const std::string& image,
                     int n) {
  const auto resources = WireMessage{}.number(1, 100'000).number(3, 2).number(5, 1000);
  const auto container = WireMessage{}
                             .part(1, WireMessage{}.bytes(1, "main").number(2, n))
                             .part(2, WireMessage{}.bytes(1, image))
                             .bytes(3, "sleep")
                             .part(15, WireMessage{}.part(1, resources));
  return WireMessage{}.bytes(1, sandbox).part(2, container).part(3, config).str();
}

/// The id in field 1 of an answer.
std::string id_in(const std::string& answer) {
  if (answer.size() < 2) throw std::runtime_error{"an answer without an id"};
  return answer.substr(2, static_cast<unsigned char>(answer[1]));
}

void measure_versions(CriCaller& direct, CriCaller& proxy) {
  const auto bare = bench::version_times(direct, kWarm, kVersions);
  const auto through = bench::version_times(proxy, kWarm, kVersions);
  bench::print(
      "cri_version", quantile(through, 0.5), "us (median, 10k calls)", quantile(bare, 0.5));
  bench::print("cri_version_p99", quantile(through, 0.99), "us (p99)", quantile(bare, 0.99));
}

void measure_creations(CriCaller& direct, CriCaller& proxy, const std::string& image, int count) {
  const auto config = sandbox_config(fmt::format("bench-{}", ::getpid()));
  const auto sandbox = id_in(direct.call("RunPodSandbox", WireMessage{}.part(1, config).str()));
  std::vector<double> bare, through;
  for (int n = 0; n < 2 * count; ++n) {
    auto& by = n % 2 == 0 ? direct : proxy;
    std::string answer;
    const auto took = by.time("CreateContainer", creation(sandbox, config, image, n), &answer);
    (n % 2 == 0 ? bare : through).push_back(took / 1000);
    direct.call("RemoveContainer", WireMessage{}.bytes(1, id_in(answer)).str());
  }
  const auto one = WireMessage{}.bytes(1, sandbox).str();
  direct.call("StopPodSandbox", one);
  direct.call("RemovePodSandbox", one);
  bench::print("cri_create_container", quantile(through, 0.5), "ms (median)", quantile(bare, 0.5));
  bench::print(
      "cri_create_container_p99", quantile(through, 0.99), "ms (p99)", quantile(bare, 0.99));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: %s DIRECT PROXY IMAGE [CREATIONS]\n", argv[0]);
    return 2;
  }
  try {
    CriCaller direct{argv[1]}, proxy{argv[2]};
    measure_versions(direct, proxy);
    measure_creations(direct, proxy, argv[3], argc > 4 ? std::max(1, std::atoi(argv[4])) : 200);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
