#include "k8s/kubelet_client.hpp"

#include <boost/json/parse.hpp>
#include <doctest/doctest.h>

#include "api_bed.hpp"
#include "support/async.hpp"

using namespace koordlet;
using namespace std::chrono_literals;
using k8s::KubeletClient;
using test::ApiBed;
using test::FakeAnswer;

namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// A time-out that only a hang meets.
KubeletClient::Options patient() {
  KubeletClient::Options out;
  out.timeout = std::chrono::minutes{2};
  return out;
}

}  // namespace

TEST_SUITE("k8s/kubelet_client/configz") {
  TEST_CASE("row 8: only the needed fields are read, whatever the others became") {
    const auto config = k8s::decode_configz(boost::json::parse(
        R"({"kubeletconfig":{"cpuManagerPolicy":"static","logging":{"flushFrequency":"5s"}}})"));
    REQUIRE(config.has_value());
    CHECK(config->cpu_manager_policy == "static");
    CHECK_FALSE(config->topology_manager_policy.has_value());
    CHECK(config->faults.empty());
  }

  TEST_CASE("all needed fields, keys in any case") {
    const auto config = k8s::decode_configz(boost::json::parse(R"({"KubeletConfig":{
      "CPUManagerPolicy":"static","cpuManagerPolicyOptions":{"full-pcpus-only":"true"},
      "topologyManagerPolicy":"restricted","topologyManagerScope":"pod",
      "reservedSystemCPUs":"0-1"}})"));
    REQUIRE(config.has_value());
    CHECK(config->cpu_manager_policy == "static");
    CHECK(config->cpu_manager_policy_options.at("full-pcpus-only") == "true");
    CHECK(config->topology_manager_policy == "restricted");
    CHECK(config->topology_manager_scope == "pod");
    CHECK(config->reserved_system_cpus == "0-1");
  }

  TEST_CASE("a needed field of another type is left out and named") {
    const auto config = k8s::decode_configz(boost::json::parse(
        R"({"kubeletconfig":{"cpuManagerPolicy":1,"cpuManagerPolicyOptions":{"a":true},
            "topologyManagerScope":"pod"}})"));
    REQUIRE(config.has_value());
    CHECK_FALSE(config->cpu_manager_policy.has_value());
    CHECK(config->cpu_manager_policy_options.empty());
    CHECK(config->topology_manager_scope == "pod");
    CHECK(config->faults.size() == 2);
  }

  TEST_CASE("what is no configz is kParse") {
    for (const char* text : {"null", "[]", "{}", R"({"kubeletconfig":1})"}) {
      CAPTURE(text);
      CHECK(k8s::decode_configz(boost::json::parse(text)).error().code == Errc::kParse);
    }
  }

  TEST_CASE("row 10: 403 is a configuration that is not known, with the reason") {
    ApiBed bed;
    bed.server.answer(
        "GET", "/configz", FakeAnswer{403, "Forbidden (user=koordlet)", "text/plain"});
    KubeletClient kubelet{bed.io.get_executor(), bed.access(), patient(), bed.clock};
    const auto config = test::run(bed.io, kubelet.configz());
    REQUIRE(config.has_value());
    CHECK_FALSE(config->cpu_manager_policy.has_value());
    CHECK(has(config->unknown_because, "403 Forbidden"));
  }
}

TEST_SUITE("k8s/kubelet_client/pods") {
  TEST_CASE("pods come with their kind, over TLS and from the read-only port") {
    for (const bool tls : {true, false}) {
      CAPTURE(tls);
      ApiBed bed;
      test::FakeApiServer plain{bed.io.get_executor()};
      auto& server = tls ? bed.server : plain;
      server.answer(
          "GET", "/pods/", FakeAnswer{200, R"({"kind":"PodList","apiVersion":"v1","metadata":{},
                                        "items":[{"metadata":{"name":"p"}}]})"});
      auto access = bed.access();
      access.endpoint = server.http().endpoint();
      if (!tls) access.token_file.clear();
      KubeletClient kubelet{bed.io.get_executor(), access, patient(), bed.clock};
      const auto pods = test::run(bed.io, kubelet.pods());
      REQUIRE(pods.has_value());
      REQUIRE(pods->size() == 1);
      CHECK((*pods)[0].at("kind") == "Pod");
      CHECK((*pods)[0].at("metadata").at("name") == "p");
    }
  }

  TEST_CASE("null items are an empty list") {
    ApiBed bed;
    bed.server.answer("GET", "/pods/", FakeAnswer{200, R"({"kind":"PodList","items":null})"});
    KubeletClient kubelet{bed.io.get_executor(), bed.access(), patient(), bed.clock};
    const auto pods = test::run(bed.io, kubelet.pods());
    REQUIRE(pods.has_value());
    CHECK(pods->empty());
  }

  TEST_CASE("row 5: a closed port is an error that is counted, never an empty list") {
    ApiBed bed;
    bed.server.stop();
    KubeletClient kubelet{bed.io.get_executor(), bed.access(), patient(), bed.clock};
    for (int i = 1; i <= 2; ++i) {
      const auto pods = test::run(bed.io, kubelet.pods());
      REQUIRE(pods.has_error());
      CHECK(pods.error().code == Errc::kIo);
      CHECK(kubelet.health().failures == static_cast<std::uint64_t>(i));
    }
  }

  TEST_CASE("refusals, foreign bodies, silence and too much are errors of their kind") {
    ApiBed bed;
    auto options = patient();
    options.max_body = 1000;
    KubeletClient kubelet{bed.io.get_executor(), bed.access(), options, bed.clock};
    struct Row {
      FakeAnswer answer;
      Errc code;
    };
    const Row rows[] = {{FakeAnswer{401, "Unauthorized", "text/plain"}, Errc::kDenied},
                        {FakeAnswer{403, "Forbidden", "text/plain"}, Errc::kDenied},
                        {FakeAnswer{503, "", "text/plain", {{"Retry-After", "1"}}}, Errc::kIo},
                        {FakeAnswer{200, "<html>"}, Errc::kParse},
                        {FakeAnswer{200, R"({"kind":"Status"})"}, Errc::kParse},
                        {FakeAnswer{200, std::string(2000, ' ')}, Errc::kRange}};
    for (const Row& row : rows) {
      CAPTURE(row.answer.status);
      CAPTURE(row.answer.body);
      bed.server.answer("GET", "/pods/", row.answer);
      const auto pods = test::run(bed.io, kubelet.pods());
      REQUIRE(pods.has_error());
      CHECK(pods.error().code == row.code);
    }
    options.timeout = 300ms;
    bed.server.on("GET", "/pods/", [](test::FakeConnection& c) -> boost::asio::awaitable<bool> {
      co_await c.silence();
      co_return true;
    });
    KubeletClient hasty{bed.io.get_executor(), bed.access(), options, bed.clock};
    CHECK(test::run(bed.io, hasty.pods()).error().code == Errc::kBusy);
  }
}

TEST_SUITE("k8s/kubelet_client/empty_guard") {
  TEST_CASE("row 11: lists of 5,0,0,0 pods are 5,5,5,0") {
    k8s::EmptyGuard guard;
    std::size_t kept = 0;
    std::vector<std::size_t> shown;
    for (const std::size_t size : {5u, 0u, 0u, 0u}) {
      if (guard.believe(size)) kept = size;
      shown.push_back(kept);
    }
    CHECK(shown == std::vector<std::size_t>{5, 5, 5, 0});
  }

  TEST_CASE("a list between starts the count anew, and an empty node stays believed") {
    k8s::EmptyGuard guard;
    for (const std::size_t size : {0u, 0u, 3u, 0u, 0u}) {
      CHECK(guard.believe(size) == (size == 3));
    }
    for (int i = 0; i < 5; ++i) CHECK(guard.believe(0));
  }
}
