#include <doctest/doctest.h>

#include "app/setting.hpp"

using namespace koordlet;
using namespace koordlet::app;

TEST_SUITE("setting values") {
  TEST_CASE("bounds are inclusive; one beyond is refused") {
    struct Row {
      const char* key;
      const char* text;
      bool ok;
    };
    const Row table[] = {
        {"collect.interval", "10s", true},
        {"collect.interval", "9s", false},
        {"collect.interval", "600s", true},
        {"collect.interval", "601s", false},
        {"collect.interval", "10500ms", false},
        {"qos.interval", "1s", true},
        {"qos.interval", "999ms", false},
        {"qos.interval", "60s", true},
        {"qos.interval", "61s", false},
        {"executor.batch_size", "1", true},
        {"executor.batch_size", "0", false},
        {"executor.batch_size", "-1", false},
        {"executor.batch_size", "1e3", false},
        {"qos.identity.be_shares", "2", true},
        {"qos.identity.be_shares", "1", false},
        {"qos.identity.be_shares", "262144", true},
        {"qos.identity.be_shares", "262145", false},
        {"qos.pressure.min_quota_us", "999", false},
        {"store.metrics_map_size", "16MiB", true},
        {"store.metrics_map_size", "15MiB", false},
        {"qos.suppress.min_percent", "none", true},
        {"qos.suppress.min_percent", "0", true},
        {"qos.suppress.min_percent", "101", false},
        {"qos.suppress.threshold_percent", "none", false},
    };
    for (const auto& row : table) {
      CAPTURE(row.key);
      CAPTURE(row.text);
      const Setting* s = find_setting(row.key);
      REQUIRE(s != nullptr);
      CHECK(convert_text(*s, row.text).has_value() == row.ok);
    }
  }

  TEST_CASE("durations: units, sums, and what is refused") {
    CHECK(parse_duration_ms("1s").value() == 1000);
    CHECK(parse_duration_ms("500ms").value() == 500);
    CHECK(parse_duration_ms("1h30m").value() == 5'400'000);
    CHECK(parse_duration_ms("0s").value() == 0);
    for (const char* bad : {"",
                            "5",
                            "s",
                            "1 s",
                            "1sec",
                            "10min",
                            "1d",
                            "-1s",
                            "1.5s",
                            "1s ",
                            "9223372036854775807h",
                            "99999999999999999999s"}) {
      CAPTURE(bad);
      CHECK(parse_duration_ms(bad).has_error());
    }
    CHECK(format_duration_ms(1500) == "1500ms");
    CHECK(format_duration_ms(90'000) == "90s");
    CHECK(format_duration_ms(3'600'000) == "1h");
    CHECK(format_duration_ms(0) == "0s");
  }

  TEST_CASE("sizes: units and what is refused") {
    CHECK(parse_size("64MiB").value() == 64 * 1024 * 1024);
    CHECK(parse_size("512B").value() == 512);
    for (const char* bad : {"", "64", "64MB", "64M", "MiB", "1GiB1MiB", "9999999999TiB", "-1MiB"}) {
      CAPTURE(bad);
      CHECK(parse_size(bad).has_error());
    }
    CHECK(format_size(1536) == "1536B");
    CHECK(format_size(256ll << 20) == "256MiB");
  }

  TEST_CASE("listeners stay on loopback") {
    for (const char* good : {"", "127.0.0.1:0", "127.0.0.2:80", "[::1]:6060"}) {
      CAPTURE(good);
      CHECK(convert_text(*find_setting("status.listen"), good).has_value());
    }
    for (const char* bad : {"0.0.0.0:6060",
                            ":6060",
                            "6060",
                            "127.0.0.1",
                            "127.0.0.1:65536",
                            "::1:6060",
                            "localhost:6060",
                            "127.0.0.1:x",
                            "10.0.0.1:6060"}) {
      CAPTURE(bad);
      CHECK(convert_text(*find_setting("status.listen"), bad).has_error());
    }
  }

  TEST_CASE("paths are absolute, without '..', and a socket path fits the kernel") {
    const Setting& folder = *find_setting("store.folder");
    CHECK(convert_text(folder, "/data/koordlet").has_value());
    for (const char* bad : {"", "data", "../x", "/a/../b", "/a\nb"}) {
      CAPTURE(bad);
      CHECK(convert_text(folder, bad).has_error());
    }
    const Setting& socket = *find_setting("status.socket");
    CHECK(convert_text(socket, "/" + std::string(106, 's')).has_value());
    CHECK(convert_text(socket, "/" + std::string(107, 's')).has_error());
  }
}
