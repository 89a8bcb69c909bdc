#pragma once

#include <string>
#include <vector>

#include "base/cgroup.hpp"

/// A disk with what is asked of it, and how late a read is then. Pure.
namespace koordlet::sim {

/// Rates of one user of a disk, a second.
struct IoLoad {
  double read_bytes = 0, write_bytes = 0, reads = 0, writes = 0;
  double bytes() const { return read_bytes + write_bytes; }
  double ops() const { return reads + writes; }
  bool idle() const { return bytes() <= 0 && ops() <= 0; }
  IoLoad& operator+=(const IoLoad& o);
};
/// `reads` and `writes` are factors.
IoLoad scaled(const IoLoad& load, double reads, double writes);

struct DiskSpec {
  std::string name;                 ///< "vdb", as blocks of blkioQOS name it
  std::string number;               ///< "253:16"
  double bytes_per_second = 200e6;  ///< streaming, above 0
  double ops_per_second = 5000;     ///< of the smallest requests, above 0
  /// Requests that wait at most (nr_requests; the kernel's BLKDEV_DEFAULT_RQ).
  int queue = 128;
};

/// Share of the disk's time that `load` needs: operations / ops_per_second + bytes /
/// bytes_per_second, the linear model of blk-iocost. Above 1: more than it can do.
double busy_share(const DiskSpec& disk, const IoLoad& load);

/// One cgroup as the block layer sees it. The root is entry 0, parents stand before their children.
struct IoGroup {
  int parent = -1;
  IoLoad demand;  ///< of its own tasks
  IoMax max;      ///< holds for it and everything below
  double weight = 100;
  IoLoad allowed;  ///< out: own demand within all limits above it
  IoLoad given;    ///< out: what the disk did of it
};

/// Limits first: a group's limit takes the same share of everything below it, reads and writes
/// apart. Then the disk: up to its capacity all is done; above it `by_weight` (blk-iocost is on)
/// shares its time by weight, level by level, else everybody gets the same share of what it asks
/// for, as of one queue.
void share_disk(std::vector<IoGroup>& groups, const DiskSpec& disk, bool by_weight);

/// 99th percentile of a read, `base_ms` on the idle disk, under `asked` (all groups, within their
/// limits). M/M/1: a response time is exponential with mean service / (1 - busy), so each of its
/// percentiles is the idle one / (1 - busy); at most the idle one and a whole queue of mean
/// requests before it, which is what a disk that is asked for too much comes to.
double read_p99_ms(double base_ms, const DiskSpec& disk, const IoLoad& asked);

}  // namespace koordlet::sim
