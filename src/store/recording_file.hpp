#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kernel/fd.hpp"
#include "store/recording_frame.hpp"

/// Recordings as files: a ring of segments "recorder.000000", "recorder.000001", ... in one folder
/// (docs/recorder.md).
namespace koordlet::store {

/// Segments that the ring is cut into: so much of it goes at a time when it is full.
inline constexpr std::uint64_t kSegments = 8;
/// A longer frame is damage.
inline constexpr std::size_t kMostFrameBytes = std::size_t{16} << 20;
inline constexpr std::uint64_t kMostSegmentBytes = std::uint64_t{1} << 30;

/// "koordlet-recording 1 0123456789abcdef\n".
std::string segment_head(std::uint64_t schema);
/// Length, checksum, bytes.
void append_frame(std::string& out, std::string_view frame);

/// The writing side. One owner, on the storage thread. Nothing is synced: what the kernel took
/// survives the end of the process.
class SegmentRing {
 public:
  struct File {
    std::uint64_t number = 0, bytes = 0;
    WallTime from;  ///< of its first frame
  };
  /// `size`: bytes of the whole ring.
  SegmentRing(std::string folder, std::uint64_t size, std::uint64_t schema);

  /// Makes the folder, and takes note of the segments that are there; a broken one is counted with
  /// its bytes and ages out like the rest.
  Result<void> open();
  /// A new segment that begins with `frames`: written under another name, then renamed. The oldest
  /// ones go first, so that the ring keeps its size.
  Result<void> begin(std::string_view frames, WallTime from);
  /// More for the newest segment. After an error the segment is closed: begin() again.
  Result<void> append(std::string_view frames);
  bool is_open() const { return static_cast<bool>(fd_); }
  bool is_full() const;  ///< time for the next segment
  std::uint64_t bytes() const;
  const std::deque<File>& files() const { return files_; }  ///< oldest first

 private:
  std::string path(std::uint64_t number) const;
  void make_room(std::uint64_t for_bytes);

  std::string folder_;
  std::uint64_t size_, schema_;
  std::deque<File> files_;
  kernel::Fd fd_;
};

/// One segment, read whole.
struct Segment {
  std::string file;
  KeyFrame key;
  std::vector<TickFrame> ticks;
  std::uint64_t torn_bytes = 0;  ///< of a frame that was not written to its end
};
/// "FILE: line 1: expected ..." or "FILE: frame 3 at byte 120: ...": no recording, of another
/// version, or damaged. `name` stands for the file.
Result<Segment> parse_segment(std::string_view text, const std::string& name, std::uint64_t schema);
Result<Segment> read_segment(const std::string& file, std::uint64_t schema);
/// The file itself, or the segments of a folder, oldest first; an error when there are none.
Result<std::vector<std::string>> find_segments(const std::string& path);

}  // namespace koordlet::store
