// Figures of the control plane: a list of 1000 pods, and 1000 events, from the socket to the state.
// The API server is a process of its own, so that its memory is not ours. One JSON object a line.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/json/parse.hpp>
#include <fmt/format.h>

#include "bench/report.hpp"
#include "modules/states_informer/api_source.hpp"
#include "modules/states_informer/state_keeper.hpp"
#include "reactor/task_group.hpp"
#include "support/fake_api_server.hpp"
#include "support/fake_tree.hpp"

namespace {

using namespace koordlet;
using namespace koordlet::bench;
using namespace koordlet::states;
using namespace koordlet::test;
using Clock_ = std::chrono::steady_clock;

constexpr int kPods = 1000;
constexpr const char* kCollection = "/api/v1/pods";

/// A pod as real ones are: about 8 KB, most of it nothing that koordlet reads.
std::string pod(int i, int generation) {
  std::string env;
  for (int e = 0; e < 40; ++e) {
    env +=
        fmt::format(R"({}{{"name":"SERVICE_{}_HOST","value":"service-{}.shop.svc.cluster.local"}})",
                    e == 0 ? "" : ",",
                    e,
                    e);
  }
  const std::string managed(3000, 'f');
  return fmt::format(
      R"({{"metadata":{{"name":"web-{0}","namespace":"shop","uid":"4f6f2c1e-0000-0000-0000-{0:012}",
      "labels":{{"app":"web","pod-template-hash":"7d9","koordinator.sh/qosClass":"BE"}},
      "annotations":{{"generation":"{1}","prometheus.io/scrape":"true"}},
      "ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-7d9","uid":"r1",
      "controller":true}}],"managedFields":[{{"manager":"kubelet","fieldsV1":{{"f":"{2}"}}}}]}},
      "spec":{{"nodeName":"n1","priority":5500,"containers":[{{"name":"main","image":"shop/web:1",
      "env":[{3}],"resources":{{"requests":{{"kubernetes.io/batch-cpu":"1000","kubernetes.io/batch-memory":"1Gi"}},
      "limits":{{"kubernetes.io/batch-cpu":"1000","kubernetes.io/batch-memory":"1Gi"}}}}}},
      {{"name":"side","image":"mesh:1","resources":{{}}}}]}},
      "status":{{"phase":"Running","qosClass":"BestEffort","podIP":"10.0.0.1","containerStatuses":[
      {{"name":"main","containerID":"containerd://{0:064}","image":"shop/web:1","state":{{"running":{{}}}}}},
      {{"name":"side","containerID":"containerd://{0:063}f","state":{{"running":{{}}}}}}]}}}})",
      i,
      generation,
      managed,
      env);
}

double milliseconds(Clock_::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

/// The server's process: tells its port, then changes every pod for each byte that it is given.
int serve(int port_out, int go_in) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  boost::asio::io_context io;
  FakeApiServer api{io.get_executor()};
  api.serve(kCollection, "Pod");
  api.serve("/api/v1/nodes", "Node");
  api.serve("/apis/slo.koordinator.sh/v1alpha1/nodeslos", "NodeSLO");
  api.serve("/apis/slo.koordinator.sh/v1alpha1/nodemetrics", "NodeMetric");
  api.put("/api/v1/nodes", std::string_view{R"({"metadata":{"name":"n1","uid":"n"},
          "status":{"capacity":{"cpu":"64","memory":"256Gi"}}})"});
  for (int i = 0; i < kPods; ++i) api.put(kCollection, std::string_view{pod(i, 0)});
  const std::uint16_t port = api.http().port();
  if (::write(port_out, &port, sizeof port) != sizeof port) return 1;
  boost::asio::posix::stream_descriptor go{io, go_in};
  char byte = 0;
  int generation = 0;
  std::function<void()> wait = [&] {
    go.async_read_some(boost::asio::buffer(&byte, 1), [&](const auto& ec, std::size_t) {
      if (ec) return io.stop();
      ++generation;
      for (int i = 0; i < kPods; ++i) api.put(kCollection, std::string_view{pod(i, generation)});
      wait();
    });
  };
  wait();
  io.run();
  return 0;
}

struct Client {
  boost::asio::io_context io;
  SystemClock clock;
  FakeTree folder;
  std::optional<store::LmdbEnv> env;
  reactor::Worker worker{"storage"};
  std::unique_ptr<k8s::ApiClient> api;
  StateKeeper keeper{kernel::HostRoots{}, CgroupVersion::kV1};
  std::unique_ptr<ApiSource> source;
  reactor::TaskGroup tasks{io.get_executor(), [](const std::string&, const auto&) {}};
  std::optional<kernel::CgroupLayout> layout = kernel::CgroupLayout{CgroupDriver::kCgroupfs};
  std::uint64_t changes = 0;

  bool open(std::uint16_t port) {
    store::LmdbEnv::Options options;
    options.folder = folder.path("state");
    auto opened = store::LmdbEnv::open(options);
    if (!opened) return false;
    env.emplace(std::move(*opened));
    k8s::ApiAccess access;
    access.endpoint = {false, "127.0.0.1", port, ""};
    api = std::make_unique<k8s::ApiClient>(
        io.get_executor(), access, k8s::ApiClient::Options{}, clock);
    if (!api->open()) return false;
    ApiSource::Config config;
    config.node_name = "n1";
    source =
        std::make_unique<ApiSource>(io.get_executor(), config, *api, clock, &worker, &*env, [this] {
          ++changes;
          static_cast<void>(keeper.publish(source->content(layout, *keeper.state()), {}));
        });
    return true;
  }
  template <class F>
  void until(F done) {
    while (!done()) io.run_one_for(std::chrono::milliseconds{50});
  }
  std::uint64_t events() const {
    for (const auto& h : source->health()) {
      if (h.name == "pods") return h.events;
    }
    return 0;
  }
};

/// What the JSON library alone takes for the same bytes.
double parse_floor_ms(int generation) {
  std::vector<std::string> texts;
  for (int i = 0; i < kPods; ++i) texts.push_back(pod(i, generation));
  const auto start = Clock_::now();
  std::size_t members = 0;
  for (const auto& text : texts) members += boost::json::parse(text).as_object().size();
  const auto took = milliseconds(Clock_::now() - start);
  return members == 3 * kPods ? took : 0;
}

int measure(std::uint16_t port, int go) {
  const double floor = parse_floor_ms(0);
  auto client = std::make_unique<Client>();
  if (!client->open(port)) return 1;
  const auto before = anonymous_mb();
  const auto start = Clock_::now();
  client->tasks.spawn("source", client->source->run());
  client->until([&] { return client->keeper.state()->pods.size() == kPods; });
  print("list_1000_pods", milliseconds(Clock_::now() - start), "ms", floor);
  // The cache is written two seconds after a change.
  const auto settled = Clock_::now() + std::chrono::seconds{4};
  client->until([&] { return Clock_::now() > settled; });
  print("list_1000_pods_anonymous_growth", anonymous_mb() - before, "MB", 0);

  std::vector<double> rounds;
  for (int round = 1; round <= 5; ++round) {
    const auto target = client->events() + kPods;
    const auto from = Clock_::now();
    if (::write(go, "x", 1) != 1) return 1;
    client->until([&] { return client->events() >= target; });
    rounds.push_back(milliseconds(Clock_::now() - from) * 1000 / kPods);
  }
  std::sort(rounds.begin(), rounds.end());
  print("watch_apply", rounds[rounds.size() / 2], "us", parse_floor_ms(1) * 1000 / kPods);
  client->tasks.request_stop();
  client->until([&] { return client->tasks.live() == 0; });
  return 0;
}

}  // namespace

int main() {
  int port_pipe[2], go_pipe[2];
  if (::pipe(port_pipe) != 0 || ::pipe(go_pipe) != 0) return 1;
  const auto child = ::fork();
  if (child == 0) ::_exit(serve(port_pipe[1], go_pipe[0]));
  std::uint16_t port = 0;
  int rc = 1;
  if (::read(port_pipe[0], &port, sizeof port) == sizeof port) rc = measure(port, go_pipe[1]);
  ::kill(child, SIGTERM);
  ::waitpid(child, nullptr, 0);
  return rc;
}
