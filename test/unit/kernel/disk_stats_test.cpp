#include "kernel/disk_stats.hpp"

#include <doctest/doctest.h>

#include "kernel/procfs.hpp"
#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using koordlet::test::FakeTree;
using namespace std::chrono_literals;

namespace {

constexpr const char* kDisks =
    "   8       0 sda 100 5 2000 70 40 6 800 30 2 350 900 0 0 0 0 12 9\n"
    " 259       1 nvme0n1p1 1 0 8 1 0 0 0 0 0 1 1\n";

constexpr const char* kNet =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop "
    "fifo colls carrier compressed\n"
    "    lo:     500       5    0    0    0     0          0         0      500       5    0    0  "
    "  "
    "0     0       0          0\n"
    "  eth0:1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0\n";

TEST_SUITE("disk_stats") {
  TEST_CASE("sectors of 512 bytes, times in ms, fields of later kernels left alone") {
    const auto disks = parse_disk_stats(kDisks);
    REQUIRE(disks.has_value());
    REQUIRE(disks->size() == 2);
    const auto& sda = disks->front();
    CHECK(sda.device == DeviceNumber{8, 0});
    CHECK(sda.name == "sda");
    CHECK(sda.reads == 100);
    CHECK(sda.read_bytes == 2000 * 512);
    CHECK(sda.read_time == 70ms);
    CHECK(sda.writes == 40);
    CHECK(sda.write_bytes == 800 * 512);
    CHECK(sda.write_time == 30ms);
    CHECK(sda.in_flight == 2);
    CHECK(sda.io_time == 350ms);
    CHECK(disks->back().device == DeviceNumber{259, 1});
  }
  TEST_CASE("a line that ends early or holds no number is refused, never half read") {
    for (const char* text : {"8 0 sda 1 2 3 4 5 6 7 8 9 10\n",
                             "8 0 sda 1 2 3 4 5 6 7 8 9 10 x\n",
                             "8 0\n",
                             "\n8",
                             "8 0 sda 1 2 3 4 5 6 7 8 9 10 11",
                             "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n8 1 sda1 1 2 3 4 5 6 7 8 9 10 1",
                             "x 0 sda 1 2 3 4 5 6 7 8 9 10 11\n",
                             "8 0 sda 1 2 99999999999999999999 4 5 6 7 8 9 10 11\n",
                             "8 0 sda 1 2 18446744073709551615 4 5 6 7 8 9 10 11\n"}) {
      CAPTURE(text);
      const auto disks = parse_disk_stats(text);
      REQUIRE(disks.has_error());
      CHECK(disks.error().code == Errc::kParse);
    }
  }
  TEST_CASE("no disks at all is an empty list, of the file as well") {
    CHECK(parse_disk_stats("").value().empty());
    const FakeTree t{{"proc/diskstats", ""}};
    HostRoots roots;
    roots.proc = t.path("proc");
    ProcFs proc{roots};
    CHECK(proc.disks().value().empty());
    t.write("proc/diskstats", kDisks);
    CHECK(proc.disks().value().size() == 2);
    t.write("proc/diskstats", "8 0 sda\n");
    CHECK(proc.disks().error().code == Errc::kParse);
  }
  TEST_CASE("device numbers") {
    CHECK(parse_device_number("253:16").value() == DeviceNumber{253, 16});
    CHECK(to_string(DeviceNumber{8, 1}) == "8:1");
    for (const char* text : {"", "8", "8:", ":1", "8:x", "-1:0", "8:4294967296", "8:1:2"}) {
      CAPTURE(text);
      CHECK(parse_device_number(text).has_error());
    }
  }
  TEST_CASE("an interface with and without a blank behind its name") {
    const auto nets = parse_net_dev(kNet);
    REQUIRE(nets.has_value());
    REQUIRE(nets->size() == 2);
    const auto& eth = nets->back();
    CHECK(eth.name == "eth0");
    CHECK(eth.rx_bytes == 1000);
    CHECK(eth.rx_packets == 10);
    CHECK(eth.rx_errors == 1);
    CHECK(eth.rx_dropped == 2);
    CHECK(eth.tx_bytes == 2000);
    CHECK(eth.tx_packets == 20);
    CHECK(eth.tx_errors == 3);
    CHECK(eth.tx_dropped == 4);
  }
  TEST_CASE("a network file without its heading, or with short lines, is refused") {
    for (const char* text : {"",
                             "a|b\neth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 1",
                             "a|b\neth0: 1 2 3 4 5 6 7 8 9 10 11 x 13 14 15 16\n",
                             "eth0: 1 2 3\n",
                             "a|b\neth0: 1 2 3\n",
                             "a|b\n: 1\n",
                             "a|b\neth0 1\n"}) {
      CAPTURE(text);
      CHECK(parse_net_dev(text).error().code == Errc::kParse);
    }
  }
  TEST_CASE("ProcFs reads both, without loopback; a missing file is kNotFound") {
    const FakeTree t{{"proc/diskstats", kDisks}, {"proc/net/dev", kNet}};
    HostRoots roots;
    roots.proc = t.path("proc");
    ProcFs proc{roots};
    CHECK(proc.disks().value().size() == 2);
    const auto nets = proc.network();
    REQUIRE(nets.has_value());
    REQUIRE(nets->size() == 1);
    CHECK(nets->front().name == "eth0");
    roots.proc = t.path("nowhere");
    ProcFs none{roots};
    CHECK(none.disks().error().code == Errc::kNotFound);
    CHECK(none.network().error().code == Errc::kNotFound);
  }
}

}  // namespace
