#include "store/recording_file.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/parse.hpp"
#include "store/fnv.hpp"

namespace koordlet::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "koordlet-recording ";
constexpr int kVersion = 1;
constexpr std::string_view kPrefix = "recorder.";
constexpr std::size_t kFrameHead = 8;  ///< length and checksum, 32 bits each, little endian

void put_u32(std::string& out, std::uint32_t v) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>(v >> 8 * i & 0xFF);
}

std::uint32_t get_u32(std::string_view from) {
  std::uint32_t v = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    v |= static_cast<std::uint32_t>(static_cast<unsigned char>(from[i])) << 8 * i;
  }
  return v;
}

std::uint32_t checksum(std::string_view frame) {
  const auto h = fnv1a(frame);
  return static_cast<std::uint32_t>(h ^ h >> 32);
}

/// nullopt: not the name of a segment.
std::optional<std::uint64_t> number_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const auto number = parse_u64(std::string_view{name}.substr(kPrefix.size()));
  if (!number || *number >= 1'000'000'000) return std::nullopt;
  return *number;
}

Result<void> write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const auto n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error(errno, path, "write");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> make_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return errno_error(errno, folder, "make the folder");
}

/// When its first frame was made; nothing else of the file is looked at.
WallTime start_of(const std::string& path) {
  std::string head(4096, '\0');
  const kernel::Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  const auto n = fd ? ::read(fd.get(), head.data(), head.size()) : -1;
  if (n <= 0) return {};
  std::string_view rest{head.data(), static_cast<std::size_t>(n)};
  const auto line = rest.find('\n');
  if (line == rest.npos || rest.size() < line + 1 + kFrameHead + 1) return {};
  rest.remove_prefix(line + 1 + kFrameHead + 1);
  std::uint64_t now = 0;
  std::uint64_t wall = 0;
  if (!get_varint(rest, now) || !get_varint(rest, wall)) return {};
  return WallTime{WallTime::duration{unzigzag(wall)}};
}

}  // namespace

std::string segment_head(std::uint64_t schema) {
  return fmt::format("{}{} {:016x}\n", kMagic, kVersion, schema);
}

void append_frame(std::string& out, std::string_view frame) {
  put_u32(out, static_cast<std::uint32_t>(frame.size()));
  put_u32(out, checksum(frame));
  out += frame;
}

SegmentRing::SegmentRing(std::string folder, std::uint64_t size, std::uint64_t schema)
    : folder_{std::move(folder)}, size_{size}, schema_{schema} {}

std::string SegmentRing::path(std::uint64_t number) const {
  return fmt::format("{}/{}{:06}", folder_, kPrefix, number);
}

Result<void> SegmentRing::open() {
  if (const auto made = make_folder(folder_); !made) return made;
  files_.clear();
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator{folder_, ec}) {
    const auto name = entry.path().filename().string();
    std::error_code ignored;
    if (name.starts_with(kPrefix) && name.ends_with(".tmp")) fs::remove(entry.path(), ignored);
    const auto number = number_of(name);
    if (!number) continue;
    const auto bytes = entry.file_size(ignored);
    if (!ignored) files_.push_back({*number, bytes, start_of(entry.path().string())});
  }
  if (ec) return errno_error(ec.value(), folder_, "list");
  std::sort(files_.begin(), files_.end(), [](const File& a, const File& b) {
    return a.number < b.number;
  });
  return {};
}

void SegmentRing::make_room(std::uint64_t for_bytes) {
  while (!files_.empty() && bytes() + for_bytes > size_) {
    ::unlink(path(files_.front().number).c_str());
    files_.pop_front();
  }
}

Result<void> SegmentRing::begin(std::string_view frames, WallTime from) {
  fd_.reset();
  if (const auto made = make_folder(folder_); !made) return made;
  const auto number = files_.empty() ? 0 : files_.back().number + 1;
  // Room for all of it: the ring is at its size when the segment is full, not before.
  make_room(std::max<std::uint64_t>(size_ / kSegments, frames.size()));
  const auto final_path = path(number);
  const auto temporary = final_path + ".tmp";
  kernel::Fd fd{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
  if (!fd) return errno_error(errno, temporary, "open");
  const auto head = segment_head(schema_);
  auto done = write_all(fd.get(), head, temporary);
  if (done) done = write_all(fd.get(), frames, temporary);
  if (done && ::rename(temporary.c_str(), final_path.c_str()) != 0) {
    done = errno_error(errno, final_path, "rename");
  }
  if (!done) {
    ::unlink(temporary.c_str());
    return done;
  }
  fd_ = std::move(fd);
  files_.push_back({number, head.size() + frames.size(), from});
  return {};
}

Result<void> SegmentRing::append(std::string_view frames) {
  if (!fd_) return Error{Errc::kIo, folder_ + ": no segment is open"};
  const auto done = write_all(fd_.get(), frames, path(files_.back().number));
  if (!done) fd_.reset();
  if (done) files_.back().bytes += frames.size();
  return done;
}

bool SegmentRing::is_full() const { return fd_ && files_.back().bytes >= size_ / kSegments; }

std::uint64_t SegmentRing::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& f : files_) sum += f.bytes;
  return sum;
}

Result<Segment> parse_segment(std::string_view text,
                              const std::string& name,
                              std::uint64_t schema) {
  const auto refuse = [&](std::string what) {
    return Error{Errc::kParse, fmt::format("{}: {}", name, what)};
  };
  const auto head = segment_head(schema);
  if (!text.starts_with(head)) {
    const auto got = printable(text.substr(0, std::min<std::size_t>(text.find('\n'), 60)), 60);
    const auto want = std::string_view{head}.substr(0, head.size() - 1);
    return refuse(
        fmt::format("line 1: expected '{}' (a recording of this koordlet), got '{}'", want, got));
  }
  Segment out;
  out.file = name;
  ReadNames names;
  bool has_key = false;
  int number = 0;
  for (std::size_t at = head.size(); at < text.size();) {
    ++number;
    const auto rest = text.substr(at);
    const auto length = rest.size() < kFrameHead ? 0 : std::size_t{get_u32(rest)};
    // Cut off at the end, or filled with zeros by a file system that lost power.
    const bool zeros = rest.find_first_not_of('\0') == rest.npos;
    if (zeros || rest.size() < kFrameHead ||
        (length <= kMostFrameBytes && rest.size() - kFrameHead < length)) {
      out.torn_bytes = rest.size();
      break;
    }
    const auto where = fmt::format("frame {} at byte {}: ", number, at);
    if (length > kMostFrameBytes) {
      return refuse(
          fmt::format("{}expected a length up to {}, got {}", where, kMostFrameBytes, length));
    }
    const auto frame = rest.substr(kFrameHead, length);
    if (checksum(frame) != get_u32(rest.substr(4))) {
      if (rest.size() == kFrameHead + length) {
        out.torn_bytes = rest.size();
        break;
      }
      return refuse(where + "expected the checksum of its bytes: the file is damaged");
    }
    auto decoded = decode_frame(frame, names);
    if (!decoded) return refuse(where + decoded.error().context);
    const bool is_key = std::holds_alternative<KeyFrame>(*decoded);
    if (is_key == has_key) {
      return refuse(where +
                    (has_key ? "expected a tick, got a key" : "expected a key, got a tick"));
    }
    has_key = true;
    if (is_key) out.key = std::move(std::get<KeyFrame>(*decoded));
    if (!is_key) out.ticks.push_back(std::move(std::get<TickFrame>(*decoded)));
    at += kFrameHead + length;
  }
  if (!has_key) return refuse("expected a key frame, the file ends");
  return out;
}

Result<Segment> read_segment(const std::string& file, std::uint64_t schema) {
  const auto text = kernel::read_file(file, kMostSegmentBytes);
  if (!text) return text.error();
  return parse_segment(*text, file, schema);
}

Result<std::vector<std::string>> find_segments(const std::string& path) {
  std::error_code ec;
  const auto status = fs::status(path, ec);
  if (ec || !fs::exists(status)) {
    return Error{Errc::kNotFound, path + ": no such file: expected a recording or its folder"};
  }
  if (!fs::is_directory(status)) return std::vector<std::string>{path};
  std::vector<std::pair<std::uint64_t, std::string>> found;
  for (const auto& entry : fs::directory_iterator{path, ec}) {
    const auto number = number_of(entry.path().filename().string());
    if (number) found.emplace_back(*number, entry.path().string());
  }
  if (ec) return errno_error(ec.value(), path, "list");
  if (found.empty())
    return Error{Errc::kNotFound, path + ": expected files recorder.NUMBER, got none"};
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (auto& f : found) out.push_back(std::move(f.second));
  return out;
}

}  // namespace koordlet::store
