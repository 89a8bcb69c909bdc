#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include <doctest/doctest.h>

#include "store/recording_file.hpp"

namespace fs = std::filesystem;
using namespace koordlet;
using namespace koordlet::store;
using std::chrono::seconds;

namespace {

constexpr std::uint64_t kSchema = 0x0123456789abcdefULL;
const MonoTime kNow{seconds{5000}};

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "koordlet-rec-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path;
};

KeyFrame key() {
  KeyFrame out;
  out.now = kNow;
  out.wall = WallTime{seconds{1'700'000'000}};
  out.run = "boot-1";
  out.number = 7;
  out.settings = {{"qos.interval", "1s"}};
  return out;
}

TickFrame tick(std::uint64_t number) {
  TickFrame out;
  out.now = kNow + seconds{number};
  out.wall = WallTime{seconds{1'700'000'000 + number}};
  out.number = number;
  auto pod = std::make_shared<Pod>();
  pod->uid = "uid-1";
  pod->labels = {{"koordinator.sh/priority", "5"}, {"secret", "x"}};
  pod->annotations = {{"koordinator.sh/eviction-policy", "[]"},
                      {"kubernetes.io/config.mirror", "hash"},
                      {"password", "y"}};
  pod->priority = 9;
  pod->cgroup = CgroupPath::parse("kubepods/poduid-1").value();
  out.pods = {pod};
  out.signals = NodeSignals{};
  (*out.signals)->node_used = MilliCpu{1500};
  (*out.signals)->at = kNow;
  out.usage.now["uid-1"].memory = Bytes{1 << 20};
  out.wishes.push_back({{pod->cgroup, CgroupFile::kCpuMax},
                        CpuMax{Limit{std::chrono::microseconds{50'000}}},
                        Role::kCap,
                        "pressure",
                        "level HIGH"});
  return out;
}

std::string segment(int ticks) {
  WriteNames names;
  std::string out = segment_head(kSchema);
  append_frame(out, encode_frame(key(), names));
  for (int i = 0; i < ticks; ++i) append_frame(out, encode_frame(tick(7 + i), names));
  return out;
}

std::string fault_of(const std::string& text) {
  const auto read = parse_segment(text, "FILE", kSchema);
  return read ? "" : read.error().context;
}

}  // namespace

TEST_SUITE("store/recording") {
  TEST_CASE("what is written comes back, names by number the second time") {
    const auto read = parse_segment(segment(2), "FILE", kSchema);
    REQUIRE(read.has_value());
    CHECK(read->key.run == "boot-1");
    CHECK(read->key.settings.front().second == "1s");
    REQUIRE(read->ticks.size() == 2);
    for (const auto& t : read->ticks) {
      const auto want = tick(t.number);
      CHECK(t.now == want.now);
      CHECK(t.wall == want.wall);
      REQUIRE(t.pods.size() == 1);
      CHECK(t.pods[0]->priority == 9);
      CHECK(t.pods[0]->cgroup == want.pods[0]->cgroup);
      CHECK((*t.signals)->node_used == MilliCpu{1500});
      CHECK((*t.signals)->at == kNow);
      CHECK(t.usage.now.at("uid-1").memory == Bytes{1 << 20});
      CHECK_FALSE(t.usage.now.at("uid-1").cpu.has_value());
      CHECK_FALSE(t.ls.has_value());
      REQUIRE(t.wishes.size() == 1);
      CHECK(t.wishes[0].value == want.wishes[0].value);
      CHECK(t.wishes[0].reason == "level HIGH");
    }
    WriteNames names;
    const auto first = encode_frame(tick(7), names).size();
    CHECK(encode_frame(tick(8), names).size() + 60 < first);
  }

  TEST_CASE("only labels and annotations that a rule reads are kept; presence without the value") {
    const auto read = parse_segment(segment(1), "FILE", kSchema);
    REQUIRE(read.has_value());
    const auto& pod = *read->ticks.at(0).pods.at(0);
    CHECK(pod.labels == Texts{{"koordinator.sh/priority", "5"}});
    CHECK(pod.annotations ==
          Texts{{"koordinator.sh/eviction-policy", "[]"}, {"kubernetes.io/config.mirror", ""}});
  }

  TEST_CASE("a frame that was cut off is passed over, wherever the cut is") {
    const auto whole = segment(2);
    const auto one = segment(1).size();
    for (std::size_t size = one + 1; size < whole.size(); ++size) {
      const auto read = parse_segment(whole.substr(0, size), "FILE", kSchema);
      REQUIRE(read.has_value());
      CHECK(read->ticks.size() == 1);
      CHECK(read->torn_bytes == size - one);
    }
    const auto zeros = parse_segment(segment(1) + std::string(4096, '\0'), "FILE", kSchema);
    REQUIRE(zeros.has_value());
    CHECK(zeros->torn_bytes == 4096);
  }

  TEST_CASE("damage before the end, and a foreign file, are refused in one line") {
    auto text = segment(2);
    text[segment(1).size() - 3] ^= 1;
    CHECK(fault_of(text).starts_with("FILE: frame 2 at byte "));
    CHECK(fault_of(text).find("expected the checksum") != std::string::npos);
    for (const std::string foreign : {"",
                                      "duration = \"30s\"\n",
                                      "\x7f"
                                      "ELF",
                                      "koordlet-recording 1 ffffffffffffffff\n"}) {
      CHECK(fault_of(foreign).starts_with("FILE: line 1: expected 'koordlet-recording 1 01234567"));
      CHECK(fault_of(foreign).find('\n') == std::string::npos);
    }
    CHECK(fault_of(segment_head(kSchema)) == "FILE: expected a key frame, the file ends");
  }

  TEST_CASE("any bytes as a frame are refused or read, never worse") {
    WriteNames written;
    const auto good = encode_frame(tick(7), written);
    std::mt19937 random{7};
    for (int round = 0; round < 20'000; ++round) {
      auto bytes = good;
      const auto changes = 1 + random() % 4;
      for (unsigned i = 0; i < changes; ++i) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      }
      if (round % 3 == 0) bytes.resize(random() % bytes.size());
      ReadNames names;
      const auto read = decode_frame(bytes, names);
      if (!read) {
        CHECK_FALSE(read.error().context.empty());
      }
    }
    ReadNames names;
    CHECK_FALSE(decode_frame("", names).has_value());
    CHECK_FALSE(decode_frame("\x03\x02", names).has_value());
    // A count of 2^60 items in a handful of bytes.
    CHECK_FALSE(
        decode_frame(std::string("\x01\x02\x02\xff\xff\xff\xff\xff\xff\xff\xff\x0f", 12), names)
            .has_value());
  }

  TEST_CASE("the ring keeps its size: the oldest segment goes when a new one begins") {
    const Folder folder;
    constexpr std::uint64_t kSize = 64'000;
    SegmentRing ring{folder.path + "/r", kSize, kSchema};
    REQUIRE(ring.open().has_value());
    std::string frames;
    WriteNames names;
    append_frame(frames, encode_frame(key(), names));
    for (int i = 0; i < 40; ++i) {
      REQUIRE(ring.begin(frames, key().wall).has_value());
      while (!ring.is_full()) REQUIRE(ring.append(std::string(500, 'x')).has_value());
      CHECK(ring.bytes() <= kSize + 600 * kSegments);
      CHECK(ring.files().size() <= kSegments);
    }
    CHECK(ring.files().back().number == 39);
    const auto found = find_segments(folder.path + "/r");
    REQUIRE(found.has_value());
    CHECK(found->size() == ring.files().size());
    SegmentRing again{folder.path + "/r", kSize, kSchema};
    REQUIRE(again.open().has_value());
    CHECK(again.files().size() == ring.files().size());
    CHECK(again.files().front().from == key().wall);
    REQUIRE(again.begin(frames, key().wall).has_value());
    CHECK(again.files().back().number == 40);
  }

  TEST_CASE("a folder that cannot be made, a path without recordings: one line") {
    const Folder folder;
    std::ofstream{folder.path + "/file"} << "x";
    SegmentRing ring{folder.path + "/file/r", 1 << 20, kSchema};
    const auto opened = ring.open();
    REQUIRE(opened.has_error());
    CHECK(opened.error().context.find("make the folder") != std::string::npos);
    CHECK_FALSE(ring.begin("x", {}).has_value());
    CHECK_FALSE(ring.is_open());
    CHECK(find_segments(folder.path).error().context ==
          folder.path + ": expected files recorder.NUMBER, got none");
    CHECK(find_segments(folder.path + "/none").error().code == Errc::kNotFound);
  }
}
