#include "kernel/item_lines.hpp"

#include <doctest/doctest.h>

using namespace koordlet;
using namespace koordlet::kernel;

namespace {

CgroupKey key(CgroupFile file, const char* item) { return {{}, file, item}; }

std::string shown(CgroupFile file, const char* item, std::string_view text) {
  const auto value = decode_item(key(file, item), text);
  return value ? to_string(*value) : "error: " + value.error().context;
}

}  // namespace

TEST_SUITE("item lines") {
  TEST_CASE("io.max: one line a device, a device that is absent is unlimited") {
    const auto* text =
        "8:0 rbps=max wbps=2097152 riops=max wiops=max\n8:16 rbps=1048576 wbps=max riops=max "
        "wiops=120\n";
    CHECK(shown(CgroupFile::kIoMax, "8:16", text) == "rbps=1048576 wbps=max riops=max wiops=120");
    CHECK(shown(CgroupFile::kIoMax, "8:1", text) == "rbps=max wbps=max riops=max wiops=max");
    CHECK(shown(CgroupFile::kIoMax, "8:16", "") == "rbps=max wbps=max riops=max wiops=max");
    CHECK_FALSE(decode_item(key(CgroupFile::kIoMax, "8:0"), "8:0 rbps=many\n"));
  }

  TEST_CASE("io.weight: the line of the device, else the default line, else 100") {
    CHECK(shown(CgroupFile::kIoWeight, "8:16", "default 50\n8:16 200\n") == "200");
    CHECK(shown(CgroupFile::kIoWeight, "8:0", "default 50\n8:16 200\n") == "50");
    CHECK(shown(CgroupFile::kIoWeight, "8:0", "") == "100");
  }

  TEST_CASE("io.cost: a device without a line is off, and its model is the kernel's") {
    CHECK(shown(CgroupFile::kIoCostQos, "8:16", "") == "enable=0");
    CHECK(shown(CgroupFile::kIoCostModel, "8:16", "8:0 ctrl=user\n") == "ctrl=auto");
    CHECK(shown(CgroupFile::kIoCostQos, "8:16", "8:16 enable=1 ctrl=user rpct=95.00\n") ==
          "enable=1 ctrl=user rpct=95");
  }

  TEST_CASE("io.cost as the kernel prints it equals what was asked for") {
    CHECK(shown(CgroupFile::kIoCostQos,
                "8:16",
                "8:16 enable=1 ctrl=user rpct=95.00 rlat=3000 wpct=95.50 wlat=3000 min=50.00 "
                "max=150.00\n") == "enable=1 ctrl=user rpct=95 rlat=3000 wpct=95.5 wlat=3000");
    CHECK(shown(CgroupFile::kIoCostQos,
                "8:16",
                "8:16 enable=1 ctrl=auto rpct=0.00 rlat=25000 min=1.00 max=10000.00\n") ==
          "enable=1 ctrl=auto");
    CHECK(shown(CgroupFile::kIoCostQos, "8:16", "8:16 enable=0 ctrl=user rpct=95.00\n") ==
          "enable=0");
    CHECK(shown(CgroupFile::kIoCostModel,
                "8:16",
                "8:16 ctrl=auto model=linear rbps=174019176 rseqiops=41708\n") == "ctrl=auto");
    CHECK(shown(CgroupFile::kIoCostModel,
                "8:16",
                "8:16 ctrl=user model=linear rbps=1 rseqiops=2 rrandiops=3 wbps=4 wseqiops=5 "
                "wrandiops=6\n") ==
          "ctrl=user rbps=1 rseqiops=2 rrandiops=3 wbps=4 wseqiops=5 wrandiops=6");
  }

  TEST_CASE("pitfall 104: schemata of odd cache ids, with leading blanks") {
    const auto* text = "    MB:0=100;8=50\n    L3:0=fff;8=ff0\n";
    CHECK(shown(CgroupFile::kResctrlL3, "8", text) == "4080");  // 0xff0
    CHECK(shown(CgroupFile::kResctrlMb, "8", text) == "50");
    CHECK(decode_item(key(CgroupFile::kResctrlL3, "1"), text).error().code == Errc::kNotSupported);
    CHECK(decode_item(key(CgroupFile::kResctrlL3Code, "0"), text).error().code ==
          Errc::kNotSupported);
    CHECK(decode_item(key(CgroupFile::kResctrlL3, "0"), "L3:0=xyz\n").error().code == Errc::kParse);
  }

  TEST_CASE("scheduler features: NAME is on, NO_NAME is off, another kernel has none") {
    const auto* text = "GENTLE_FAIR_SLEEPERS NO_NEXT_BUDDY LAST_BUDDY\n";
    CHECK(shown(CgroupFile::kSchedFeature, "LAST_BUDDY", text) == "1");
    CHECK(shown(CgroupFile::kSchedFeature, "NEXT_BUDDY", text) == "0");
    CHECK(decode_item(key(CgroupFile::kSchedFeature, "ID_X"), text).error().code ==
          Errc::kNotSupported);
  }

  TEST_CASE("v1 throttle files: bare numbers, absent is unlimited") {
    CHECK(decode_rate_v1("8:16", "8:0 5\n8:16 1048576\n").value() == IoMax::Rate{1048576});
    CHECK(decode_rate_v1("8:1", "8:16 1048576\n").value().is_unlimited());
    CHECK_FALSE(decode_rate_v1("8:16", "8:16 x\n"));
    CHECK(encode_rate_v1("8:16", IoMax::Rate::unlimited()) == "8:16 0");
    CHECK(encode_rate_v1("8:16", IoMax::Rate{7}) == "8:16 7");
  }

  TEST_CASE("what one write takes") {
    CHECK(encode_item(key(CgroupFile::kIoMax, "8:16"),
                      IoMax{IoMax::Rate{1048576},
                            IoMax::Rate::unlimited(),
                            IoMax::Rate::unlimited(),
                            IoMax::Rate{120}}) == "8:16 rbps=1048576 wbps=max riops=max wiops=120");
    CHECK(encode_item(key(CgroupFile::kIoWeight, "8:16"), Number{60}) == "8:16 60");
    CHECK(encode_item(key(CgroupFile::kResctrlL3, "8"), Number{0xff}) == "L3:8=ff\n");
    CHECK(encode_item(key(CgroupFile::kResctrlL3Data, "0"), Number{0xf}) == "L3DATA:0=f\n");
    CHECK(encode_item(key(CgroupFile::kResctrlMb, "1"), Number{90}) == "MB:1=90\n");
    CHECK(encode_item(key(CgroupFile::kSchedFeature, "NEXT_BUDDY"), Number{1}) == "NEXT_BUDDY");
    CHECK(encode_item(key(CgroupFile::kSchedFeature, "NEXT_BUDDY"), Number{0}) == "NO_NEXT_BUDDY");
  }
}
