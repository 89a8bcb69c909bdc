#include "base/units.hpp"

#include <cerrno>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <type_traits>

#include <doctest/doctest.h>

#include "base/limit.hpp"
#include "base/result.hpp"

using namespace koordlet;

TEST_SUITE("units") {
  TEST_CASE("scale truncates toward zero") {
    CHECK(scale(MilliCpu{4000}, Permille{700}).v == 2800);
    CHECK(scale(MilliCpu{4000}, Permille{300}).v == 1200);
    CHECK(scale(MilliCpu{1}, Permille{999}).v == 0);
    CHECK(scale(MilliCpu{-1}, Permille{999}).v == 0);
    CHECK(scale(MilliCpu{1001}, Permille{1000}).v == 1001);
  }

  TEST_CASE("scale does not overflow in the middle") {
    const MilliCpu huge{std::numeric_limits<std::int64_t>::max() / 2};
    CHECK(scale(huge, Permille{1000}) == huge);
    CHECK(scale(huge, Permille{500}).v == huge.v / 2);
  }

  TEST_CASE("arithmetic keeps the unit") {
    MilliCpu a{1500};
    a += MilliCpu{500};
    a -= MilliCpu{250};
    CHECK(a == MilliCpu{1750});
    CHECK((MilliCpu{1} - MilliCpu{2}).v == -1);
    CHECK(Bytes{1} < Bytes{2});
    CHECK_FALSE(std::is_constructible_v<Bytes, MilliCpu>);
  }
}

TEST_SUITE("limit") {
  using Quota = Limit<Bytes>;

  TEST_CASE("unlimited is neither zero nor any number, and sorts last") {
    CHECK(Quota::unlimited() != Quota{Bytes{0}});
    CHECK(Quota::unlimited() != Quota{Bytes{std::numeric_limits<std::int64_t>::max()}});
    CHECK(Quota{Bytes{std::numeric_limits<std::int64_t>::max()}} < Quota::unlimited());
    CHECK_FALSE(Quota::unlimited() < Quota{Bytes{0}});
    CHECK_FALSE(Quota::unlimited() < Quota::unlimited());
    CHECK(Quota{Bytes{1}} < Quota{Bytes{2}});
    CHECK(Quota::unlimited() == Quota::unlimited());
  }

  TEST_CASE("the stricter of two") {
    const Quota low{Bytes{1}}, high{Bytes{2}};
    CHECK(stricter(low, high) == low);
    CHECK(stricter(high, low) == low);
    CHECK(stricter(Quota::unlimited(), high) == high);
    CHECK(stricter(high, Quota::unlimited()) == high);
    CHECK(stricter(Quota::unlimited(), Quota::unlimited()).is_unlimited());
  }

  TEST_CASE("shown in words") {
    std::ostringstream out;
    out << Quota::unlimited() << ' ' << Quota{Bytes{5}};
    CHECK(out.str() == "unlimited 5");
  }
}

TEST_SUITE("result") {
  TEST_CASE("errno values fall into the classes that callers act on") {
    struct Row {
      int err;
      Errc code;
    };
    for (const auto& row : {Row{ENOENT, Errc::kNotFound},
                            Row{ENOTDIR, Errc::kNotFound},
                            Row{ENODEV, Errc::kGone},
                            Row{EOPNOTSUPP, Errc::kNotSupported},
                            Row{EROFS, Errc::kNotSupported},
                            Row{EINVAL, Errc::kInvalid},
                            Row{ERANGE, Errc::kInvalid},
                            Row{EBUSY, Errc::kBusy},
                            Row{EAGAIN, Errc::kBusy},
                            Row{ENOSPC, Errc::kBusy},
                            Row{EMFILE, Errc::kBusy},
                            Row{ENOMEM, Errc::kBusy},
                            Row{EPERM, Errc::kDenied},
                            Row{EACCES, Errc::kDenied},
                            Row{EIO, Errc::kIo}}) {
      CAPTURE(row.err);
      CHECK(errno_error(row.err, "file", "open").code == row.code);
    }
  }

  TEST_CASE("the message names subject, action, text and number") {
    const auto e = errno_error(EINVAL, "/x/cpu.max", "write '5'");
    CHECK(e.context == "/x/cpu.max: write '5': Invalid argument (errno 22)");
    CHECK(wrap("pod a", e).context == "pod a: /x/cpu.max: write '5': Invalid argument (errno 22)");
  }

  TEST_CASE("an unlooked-at error is a programming fault") {
    const Result<int> r = Error{Errc::kParse, "x"};
    CHECK_THROWS_AS(static_cast<void>(r.value()), std::logic_error);
  }
}
