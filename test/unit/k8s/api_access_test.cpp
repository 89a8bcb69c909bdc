#include "k8s/api_access.hpp"

#include <doctest/doctest.h>

#include "k8s/base64.hpp"
#include "k8s/server_url.hpp"
#include "support/fake_tree.hpp"
#include "support/test_certs.hpp"

using namespace koordlet;
using koordlet::test::FakeTree;

namespace {

/// A kubeconfig whose cluster and user sections hold these lines.
std::string kubeconfig(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
         "contexts:\n- name: other\n  context: {cluster: none, user: none}\n"
         "- name: here\n  context: {cluster: c1, user: u1}\n"
         "clusters:\n- name: c1\n  cluster: {" +
         cluster + "}\nusers:\n- name: u1\n  user: {" + user + "}\n";
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("k8s/base64") {
  TEST_CASE("texts of every length decode, blanks are skipped") {
    CHECK(k8s::decode_base64("").value() == "");
    CHECK(k8s::decode_base64("Zg==").value() == "f");
    CHECK(k8s::decode_base64("Zm8=").value() == "fo");
    CHECK(k8s::decode_base64("Zm9v").value() == "foo");
    CHECK(k8s::decode_base64(" Zm9v\r\n\tYmFy\n").value() == "foobar");
    CHECK(k8s::decode_base64("+/8=").value() == "\xfb\xff");
  }

  TEST_CASE("what is not base64 is an error that does not show the text") {
    for (const char* text :
         {"Zg", "Zg=", "Z===", "====", "Zm9v=", "Zg==Zg==", "Zm9-", "Zm9_", "Z\1=="}) {
      CAPTURE(text);
      const auto decoded = k8s::decode_base64(text);
      REQUIRE(decoded.has_error());
      CHECK(decoded.error().code == Errc::kParse);
      CHECK_FALSE(has(decoded.error().context, text));
    }
  }
}

TEST_SUITE("k8s/server_url") {
  TEST_CASE("scheme, host, port and path are taken apart") {
    struct Row {
      const char* url;
      bool tls;
      const char* host;
      int port;
      const char* path;
    };
    for (const Row& row :
         {Row{"https://10.0.0.1:6443", true, "10.0.0.1", 6443, ""},
          Row{"https://api.example", true, "api.example", 443, ""},
          Row{"https://api.example/", true, "api.example", 443, ""},
          Row{"http://localhost", false, "localhost", 80, ""},
          Row{"https://[fd00::1]:8443/k8s/c-1/", true, "fd00::1", 8443, "/k8s/c-1"},
          Row{"https://[::1]", true, "::1", 443, ""}}) {
      CAPTURE(row.url);
      const auto url = k8s::parse_server_url(row.url);
      REQUIRE(url.has_value());
      CHECK(url->endpoint.tls == row.tls);
      CHECK(url->endpoint.host == row.host);
      CHECK(url->endpoint.port == row.port);
      CHECK(url->base_path == row.path);
    }
  }

  TEST_CASE("anything else is refused") {
    for (const char* url : {"",
                            "api.example:6443",
                            "ftp://api.example",
                            "https://",
                            "https:///path",
                            "https://:6443",
                            "https://host:",
                            "https://host:0",
                            "https://host:65536",
                            "https://host:6443x",
                            "https://[fd00::1",
                            "https://[fd00::1]6443",
                            "https://[host]",
                            "https://fd00::1",
                            "https://user:secret@host",
                            "https://host/a?b=c",
                            "https://host/#x",
                            "https://ho st",
                            "https://host/a b",
                            "https://host\r\nX: y"}) {
      CAPTURE(url);
      const auto parsed = k8s::parse_server_url(url);
      REQUIRE(parsed.has_error());
      CHECK(parsed.error().code == Errc::kParse);
      CHECK_FALSE(has(parsed.error().context, "secret"));
    }
  }

  TEST_CASE("an IPv6 server is shown in brackets") {
    CHECK(k8s::server_text({true, "fd00::1", 6443, ""}, "/p") == "https://[fd00::1]:6443/p");
    CHECK(k8s::server_text({false, "h", 80, ""}, "") == "http://h:80");
  }
}

TEST_SUITE("k8s/api_access/in_cluster") {
  TEST_CASE("host, port and service account make an access") {
    const FakeTree tree{{"token", "t"}, {"ca.crt", "x"}};
    const auto access = k8s::access_in_cluster({"fd00::1", "443", tree.root()});
    REQUIRE(access.has_value());
    CHECK(access->endpoint.tls);
    CHECK(access->endpoint.host == "fd00::1");
    CHECK(access->endpoint.port == 443);
    CHECK(access->token_file == tree.path("token"));
    CHECK(access->ca_file == tree.path("ca.crt"));
    CHECK(access->source == "in-cluster");
  }

  TEST_CASE("outside of a cluster it is kNotFound and says what is missing") {
    const FakeTree tree{{"ca.crt", "x"}};
    const auto no_host = k8s::access_in_cluster({"", "443", tree.root()});
    REQUIRE(no_host.has_error());
    CHECK(no_host.error().code == Errc::kNotFound);
    CHECK(has(no_host.error().context, "KUBERNETES_SERVICE_HOST"));
    const auto no_port = k8s::access_in_cluster({"h", "", tree.root()});
    REQUIRE(no_port.has_error());
    CHECK(has(no_port.error().context, "KUBERNETES_SERVICE_PORT"));
    const auto no_token = k8s::access_in_cluster({"h", "443", tree.root()});
    REQUIRE(no_token.has_error());
    CHECK(no_token.error().code == Errc::kNotFound);
    CHECK(has(no_token.error().context, tree.path("token")));
  }

  TEST_CASE("a bad host or port is an error, not a guess") {
    const FakeTree tree{{"token", "t"}};
    CHECK(k8s::access_in_cluster({"a b", "443", tree.root()}).error().code == Errc::kParse);
    CHECK(k8s::access_in_cluster({"h", "tcp://10.0.0.1:443", tree.root()}).error().code ==
          Errc::kParse);
  }
}

TEST_SUITE("k8s/api_access/kubeconfig") {
  TEST_CASE("files are relative to the kubeconfig, absolute ones stay") {
    const FakeTree tree{
        {"conf/config",
         kubeconfig("server: 'https://h:6443/base', certificate-authority: pki/ca.crt, "
                    "tls-server-name: api.internal",
                    "tokenFile: /run/token, client-certificate: c.crt, client-key: c.key")}};
    const auto access = k8s::access_from_kubeconfig(tree.path("conf/config"));
    REQUIRE(access.has_value());
    CHECK(access->endpoint.host == "h");
    CHECK(access->endpoint.port == 6443);
    CHECK(access->endpoint.server_name == "api.internal");
    CHECK(access->base_path == "/base");
    CHECK(access->ca_file == tree.path("conf/pki/ca.crt"));
    CHECK(access->token_file == "/run/token");
    CHECK(access->cert_file == tree.path("conf/c.crt"));
    CHECK(access->key_file == tree.path("conf/c.key"));
    CHECK(access->source == tree.path("conf/config"));
  }

  TEST_CASE("data wins over a file") {
    const FakeTree tree{
        {"config",
         kubeconfig(
             "server: 'https://h', certificate-authority: ca, certificate-authority-data: Q0E=",
             "token: abc, client-certificate-data: Y2VydA==, client-key-data: a2V5")}};
    const auto access = k8s::access_from_kubeconfig(tree.path("config"));
    REQUIRE(access.has_value());
    CHECK(access->ca_pem == "CA");
    CHECK(access->ca_file.empty());
    CHECK(access->cert_pem == "cert");
    CHECK(access->key_pem == "key");
    CHECK(access->token == "abc");
  }

  TEST_CASE("a JSON kubeconfig is one too") {
    const FakeTree tree{{"config",
                         R"({"current-context":"a",
      "contexts":[{"name":"a","context":{"cluster":"c"}}],
      "clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:8080"}}]})"}};
    const auto access = k8s::access_from_kubeconfig(tree.path("config"));
    REQUIRE(access.has_value());
    CHECK_FALSE(access->endpoint.tls);
    CHECK(access->endpoint.port == 8080);
    CHECK(access->token.empty());
  }

  TEST_CASE("what is not supported is refused by its name") {
    const std::string good = "server: 'https://h'";
    struct Row {
      std::string cluster, user, named;
    };
    for (const Row& row :
         {Row{good, "exec: {command: aws}", "user.exec"},
          Row{good, "auth-provider: {name: gcp}", "user.auth-provider"},
          Row{good, "username: joe, password: pw1", "user.username"},
          Row{good, "password: pw1", "user.password"},
          Row{good, "as: root", "user.as"},
          Row{good, "as-groups: [admins]", "user.as-groups"},
          Row{good + ", insecure-skip-tls-verify: true", "", "insecure-skip-tls-verify"},
          Row{good + ", proxy-url: 'http://p'", "", "proxy-url"}}) {
      CAPTURE(row.named);
      const FakeTree tree{{"config", kubeconfig(row.cluster, row.user)}};
      const auto access = k8s::access_from_kubeconfig(tree.path("config"));
      REQUIRE(access.has_error());
      CHECK(access.error().code == Errc::kNotSupported);
      CHECK(has(access.error().context, row.named));
      CHECK_FALSE(has(access.error().context, "pw1"));
    }
  }

  TEST_CASE("insecure-skip-tls-verify: false and empty keys are no refusal") {
    const FakeTree tree{
        {"config",
         kubeconfig("server: 'https://h', insecure-skip-tls-verify: false, proxy-url: ''",
                    "token: t, username: ''")}};
    CHECK(k8s::access_from_kubeconfig(tree.path("config")).has_value());
  }

  TEST_CASE("a secret of the wrong type never shows in the error") {
    for (const char* user :
         {"token: 4711471147", "client-key-data: 4711471147", "client-key-data: 'x4711471147'"}) {
      CAPTURE(user);
      const FakeTree tree{{"config", kubeconfig("server: 'https://h'", user)}};
      const auto access = k8s::access_from_kubeconfig(tree.path("config"));
      REQUIRE(access.has_error());
      CHECK(access.error().code == Errc::kParse);
      CHECK_FALSE(has(access.error().context, "4711471147"));
    }
  }

  TEST_CASE("a context, cluster or user that is not there is named") {
    const FakeTree tree{
        {"none", "kind: Config\n"},
        {"context", "current-context: gone\ncontexts: []\n"},
        {"cluster", "current-context: a\ncontexts: [{name: a, context: {cluster: lost}}]\n"},
        {"user",
         "current-context: a\ncontexts: [{name: a, context: {cluster: c, user: who}}]\n"
         "clusters: [{name: c, cluster: {server: 'https://h'}}]\n"}};
    struct Row {
      const char *file, *named;
    };
    for (const Row& row : {Row{"none", "current-context"},
                           Row{"context", "'gone'"},
                           Row{"cluster", "'lost'"},
                           Row{"user", "'who'"}}) {
      CAPTURE(row.file);
      const auto access = k8s::access_from_kubeconfig(tree.path(row.file));
      REQUIRE(access.has_error());
      CHECK(access.error().code == Errc::kParse);
      CHECK(has(access.error().context, row.named));
      CHECK(has(access.error().context, tree.path(row.file)));
    }
  }

  TEST_CASE("a missing file, no YAML, and half a key pair are errors") {
    const FakeTree tree{{"bad", "a: [\n"},
                        {"list", "- 1\n"},
                        {"empty", ""},
                        {"half", kubeconfig("server: 'https://h'", "client-certificate: c.crt")}};
    CHECK(k8s::access_from_kubeconfig(tree.path("missing")).error().code == Errc::kNotFound);
    for (const char* file : {"bad", "list", "half"}) {
      CAPTURE(file);
      CHECK(k8s::access_from_kubeconfig(tree.path(file)).error().code == Errc::kParse);
    }
    CHECK(k8s::access_from_kubeconfig(tree.path("empty")).has_error());
  }
}

TEST_SUITE("k8s/api_access/tls") {
  TEST_CASE("CA and client certificate are read from files") {
    const test::TestCa ca;
    const auto client = ca.client();
    const FakeTree tree{{"ca", ca.pem()}, {"crt", client.cert_pem}, {"key", client.key_pem}};
    k8s::ApiAccess access;
    access.ca_file = tree.path("ca");
    access.cert_file = tree.path("crt");
    access.key_file = tree.path("key");
    CHECK(k8s::make_tls(access).has_value());
  }

  TEST_CASE("an empty or missing CA file never means the system's store") {
    const FakeTree tree{{"ca", ""}};
    k8s::ApiAccess access;
    access.ca_file = tree.path("ca");
    CHECK(k8s::make_tls(access).error().code == Errc::kParse);
    access.ca_file = tree.path("gone");
    CHECK(k8s::make_tls(access).error().code == Errc::kNotFound);
  }
}
