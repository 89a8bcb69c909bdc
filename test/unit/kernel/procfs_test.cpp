#include "kernel/procfs.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "support/fake_tree.hpp"

using namespace koordlet;
using namespace koordlet::kernel;
using std::chrono::microseconds;
using test::FakeTree;

namespace {

HostRoots rooted(const FakeTree& tree) {
  HostRoots roots;
  roots.proc = tree.root();
  return roots;
}

}  // namespace

TEST_SUITE("procfs/stat") {
  TEST_CASE("T5: used ticks are user, nice, system, irq and softirq") {
    // 900000 + 10 + 12000 + 2 + 10 = 912022; idle, iowait, steal and guest are left out.
    const auto ticks = parse_proc_stat(
        "cpu  900000 10 12000 77777777 5555 2 10 42 800000 3\n"
        "cpu0 1 1 1 1 1 1 1 1 1 1\nintr 1 2 3\nctxt 5\n");
    REQUIRE(ticks.has_value());
    CHECK(ticks->used == 912'022);
    CHECK(ticks->steal == 42);
    const auto later = parse_proc_stat("cpu  900300 20 12010 77777877 5555 4 11 42 800000 3\n");
    REQUIRE(later.has_value());
    const double cores = static_cast<double>(later->used - ticks->used) / (1.003 * 100);
    CHECK(cores == doctest::Approx(3.220339));
  }

  TEST_CASE("old kernels without steal and guest") {
    const auto ticks = parse_proc_stat("cpu 1 2 3 4 5 6 7\n");
    REQUIRE(ticks.has_value());
    CHECK(ticks->used == 19);
    CHECK(ticks->steal == 0);
  }

  TEST_CASE("the line of one CPU is not the line of all") {
    CHECK(parse_proc_stat("cpu0 1 2 3 4 5 6 7 8\n").error().code == Errc::kParse);
    CHECK(parse_proc_stat("cpu0 9 9 9 9 9 9 9 9\ncpu 1 0 0 0 0 0 0 0\n").value().used == 1);
  }

  TEST_CASE("short, empty and damaged text is kParse") {
    for (const char* text : {"",
                             "\n",
                             "cpu\n",
                             "cpu 1 2 3 4 5 6\n",
                             "cpu 1 2 x 4 5 6 7\n",
                             "cpu 1 2 -3 4 5 6 7\n",
                             "cpu 1 2 3 4 5 6 7",
                             "cpu 1 2 3 4 5 6 7\nintr 12"}) {
      CAPTURE(text);
      CHECK(parse_proc_stat(text).error().code == Errc::kParse);
    }
  }

  TEST_CASE("CRLF does not disturb") {
    CHECK(parse_proc_stat("cpu 1 2 3 4 5 6 7\r\n").value().used == 19);
  }
}

TEST_SUITE("procfs/meminfo") {
  TEST_CASE("T6: used memory in bytes") {
    const auto m = parse_meminfo(
        "MemTotal:       263432804 kB\nMemFree:        254391744 kB\n"
        "MemAvailable:   256703236 kB\nBuffers:  1 kB\n");
    REQUIRE(m.has_value());
    CHECK(m->total - m->available == Bytes{6'891'077'632});
  }

  TEST_CASE("T6b: with page cache the node uses what is not free") {
    const auto m = parse_meminfo(
        "MemTotal:       263432804 kB\nMemFree:        254391744 kB\n"
        "MemAvailable:   256703236 kB\n");
    REQUIRE(m.has_value());
    REQUIRE(m->free.has_value());
    CHECK(m->total - *m->free == Bytes{9'258'045'440});
  }

  TEST_CASE("row 34: kB become bytes") {
    const auto m = parse_meminfo("MemTotal: 8000 kB\nMemAvailable: 3000 kB\n");
    REQUIRE(m.has_value());
    CHECK(m->total == Bytes{8'192'000});
    CHECK(m->total - m->available == Bytes{5'120'000});
  }

  TEST_CASE("keys that only begin alike are not taken") {
    const auto m = parse_meminfo(
        "MemTotalX: 1 kB\nXMemTotal: 2 kB\nMemTotal: 3 kB\nHugePages_Total:    0\n\n"
        "MemAvailable: 2 kB\r\n");
    REQUIRE(m.has_value());
    CHECK(m->total == Bytes{3072});
    CHECK(m->available == Bytes{2048});
  }

  TEST_CASE("a missing line is named, and is never zero") {
    const auto total = parse_meminfo("MemAvailable: 2 kB\n");
    REQUIRE(total.has_error());
    CHECK(total.error().code == Errc::kParse);
    CHECK(total.error().context.find("MemTotal") != std::string::npos);
    const auto available = parse_meminfo("MemTotal: 2 kB\nMemFree: 1 kB\n");
    REQUIRE(available.has_error());
    CHECK(available.error().code == Errc::kParse);
    CHECK(available.error().context.find("MemAvailable") != std::string::npos);
  }

  TEST_CASE("damaged lines are kParse") {
    for (const char* line : {"MemTotal:\n",
                             "MemTotal: 5\n",
                             "MemTotal: 5 MB\n",
                             "MemTotal: x kB\n",
                             "MemTotal: -5 kB\n",
                             "MemTotal: 9223372036854775807 kB\n"}) {
      CAPTURE(line);
      CHECK(parse_meminfo(std::string{line} + "MemAvailable: 1 kB\n").error().code == Errc::kParse);
    }
    CHECK(parse_meminfo("").error().code == Errc::kParse);
    CHECK(parse_meminfo("MemTotal: 2 kB\nMemAvailable: 1 kB").error().code == Errc::kParse);
  }
}

TEST_SUITE("procfs/psi") {
  constexpr std::string_view kSome = "some avg10=1.20 avg60=0.50 avg300=0.10 total=123456\n";

  TEST_CASE("5.6: some and full") {
    const auto psi =
        parse_psi(std::string{kSome} + "full avg10=0.00 avg60=100.00 avg300=0.01 total=7\n");
    REQUIRE(psi.has_value());
    CHECK(psi->some.avg10 == doctest::Approx(1.20));
    CHECK(psi->some.avg60 == doctest::Approx(0.50));
    CHECK(psi->some.avg300 == doctest::Approx(0.10));
    CHECK(psi->some.total == microseconds{123'456});
    REQUIRE(psi->full.has_value());
    CHECK(psi->full->avg60 == doctest::Approx(100.0));
    CHECK(psi->full->total == microseconds{7});
  }

  TEST_CASE("row 43: an older kernel without a full line") {
    const auto psi = parse_psi("some avg10=2.65 avg60=1.00 avg300=0.20 total=111\n");
    REQUIRE(psi.has_value());
    CHECK(psi->some.avg10 == doctest::Approx(2.65));
    CHECK(psi->some.total == microseconds{111});
    CHECK_FALSE(psi->full.has_value());
  }

  TEST_CASE("CRLF, unknown lines and unknown keys are skipped") {
    const auto psi = parse_psi(
        "irq avg10=x\r\nsome avg10=1.20 avg60=0.50 new=1 flag avg300=0.10 total=123456\r\n\r\n"
        "trailing garbage\n");
    REQUIRE(psi.has_value());
    CHECK(psi->some.total == microseconds{123'456});
    CHECK_FALSE(psi->full.has_value());
  }

  TEST_CASE("without a some line it is kParse") {
    CHECK(parse_psi("").error().code == Errc::kParse);
    CHECK(parse_psi("full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n").error().code ==
          Errc::kParse);
    CHECK(parse_psi("something avg10=0.00 avg60=0.00 avg300=0.00 total=0\n").error().code ==
          Errc::kParse);
  }

  TEST_CASE("damaged numbers and missing keys are kParse, in the full line as well") {
    for (const char* line : {"some\n",
                             "some avg10=1.0\n",
                             "some avg10=1.0 avg60=1.0 avg300=1.0 total=12",  // perhaps 123
                             "some avg10=1.0 avg60=1.0 avg300=1.0\n",
                             "some avg60=1.0 avg300=1.0 total=1\n",
                             "some avg10= avg60=1.0 avg300=1.0 total=1\n",
                             "some avg10=nan avg60=1.0 avg300=1.0 total=1\n",
                             "some avg10=inf avg60=1.0 avg300=1.0 total=1\n",
                             "some avg10=-1.0 avg60=1.0 avg300=1.0 total=1\n",
                             "some avg10=100.01 avg60=1.0 avg300=1.0 total=1\n",
                             "some avg10=1.0x avg60=1.0 avg300=1.0 total=1\n",
                             "some avg10=1.0 avg60=1.0 avg300=1.0 total=-1\n",
                             "some avg10=1.0 avg60=1.0 avg300=1.0 total=1.5\n",
                             "some avg10=1.0 avg60=1.0 avg300=1.0 total=99999999999999999999\n"}) {
      CAPTURE(line);
      CHECK(parse_psi(line).error().code == Errc::kParse);
      const auto full = std::string{kSome} + "full" + std::string{line}.substr(4);
      CHECK(parse_psi(full).error().code == Errc::kParse);
    }
  }
}

TEST_SUITE("procfs/files") {
  TEST_CASE("kept descriptors see new content") {
    const FakeTree tree{{"stat", "cpu 1 0 0 0 0 0 0\n"},
                        {"meminfo", "MemTotal: 2 kB\nMemAvailable: 1 kB\n"},
                        {"pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5\n"}};
    ProcFs proc{rooted(tree)};
    CHECK(proc.stat().value().used == 1);
    CHECK(proc.meminfo().value().total == Bytes{2048});
    CHECK(proc.pressure("cpu").value().some.total == microseconds{5});
    tree.write("stat", "cpu 2 0 0 0 0 0 0\n");
    CHECK(proc.stat().value().used == 2);
  }

  TEST_CASE("row 43: one resource without full, or missing, does not stop the others") {
    const FakeTree tree{{"pressure/cpu", "some avg10=2.65 avg60=0.00 avg300=0.00 total=111\n"},
                        {"pressure/io",
                         "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"
                         "full avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"}};
    ProcFs proc{rooted(tree)};
    CHECK_FALSE(proc.pressure("cpu").value().full.has_value());
    CHECK(proc.pressure("memory").error().code == Errc::kNotFound);
    CHECK(proc.pressure("io").value().full.has_value());
  }

  TEST_CASE("a resource that does not exist is kRange, and never a path") {
    const FakeTree tree;
    ProcFs proc{rooted(tree)};
    for (const char* resource : {"", "disk", "../stat", "cpu/"}) {
      CAPTURE(resource);
      CHECK(proc.pressure(resource).error().code == Errc::kRange);
    }
  }

  TEST_CASE("missing, empty and damaged files; then it works again") {
    const FakeTree tree;
    ProcFs proc{rooted(tree)};
    CHECK(proc.stat().error().code == Errc::kNotFound);
    tree.write("stat", "");
    CHECK(proc.stat().error().code == Errc::kGone);
    tree.write("stat", "garbage\n");
    const auto r = proc.stat();
    REQUIRE(r.has_error());
    CHECK(r.error().code == Errc::kParse);
    CHECK(r.error().context.starts_with(tree.path("stat")));
    tree.remove("stat");
    CHECK(proc.stat().has_error());
    tree.write("stat", "cpu 1 0 0 0 0 0 0\n");
    CHECK(proc.stat().value().used == 1);
  }

  TEST_CASE("the tick rate is a positive number") { CHECK(ProcFs::ticks_per_second() > 0); }
}
