// How threads share the work of a blocked product: one search for all kernels, with the time of a part as a function.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {

struct SharedWork {
  std::int64_t groups = 1;                // no part has rows or channels of two
  std::int64_t rows = 0, row_step = 1;    // blocks have a multiple of `row_step` rows
  std::int64_t channels = 1, column = 1;  // stretches have a multiple of `column` channels
  int num_threads = 1;

  std::int64_t columns() const { return CeilDiv(channels, column); }
};

struct PartOfWork {
  std::int64_t group, first_row, num_rows, first_channel, num_channels;
};

struct Partition {
  SharedWork work;
  std::int64_t rows = 0, blocks = 0;         // of rows
  std::int64_t channels = 0, stretches = 0;  // of output channels
  std::int64_t strip = 0;                    // the kernel's own choice, with which `cycles` is least

  // Splits into at most so many of each, of about equal size.
  static Partition Into(const SharedWork& work, std::int64_t blocks, std::int64_t stretches = 1) {
    const std::int64_t rows = RoundUp(CeilDiv(work.rows, blocks), work.row_step);
    const std::int64_t channels = CeilDiv(work.columns(), stretches) * work.column;
    return {work, rows, CeilDiv(work.rows, rows), channels, CeilDiv(work.channels, channels)};
  }

  std::int64_t parts() const { return work.groups * blocks * stretches; }
  // Parts that follow each other share rows.
  PartOfWork At(std::int64_t part) const {
    const std::int64_t block = part / stretches, row = block % blocks * rows, channel = part % stretches * channels;
    return {block / blocks, row, std::min(rows, work.rows - row), channel, std::min(channels, work.channels - channel)};
  }

  // Calls run(part, memory) for all, on the work's threads, each of which has `bytes` of the scratch memory.
  template <class Run>
  void ForEach(void* scratch, std::int64_t bytes, const Run& run) const {
    const ThreadScope threads(work.num_threads);
    ParallelFor(parts(), 1,
                [&](std::int64_t i) { run(At(i), static_cast<char*>(scratch) + CurrentPlace().part * bytes); });
  }
};

// The fastest into `blocks`, next_blocks(blocks), ... until this is 0, and 1, 2, 4, ... stretches: cycles(&partition)
// is about what a part takes, and may choose the strip; infinity is never chosen. All threads get about the same, and
// each has `more_turns` than its share of parts.
template <class NextBlocks, class Cycles>
Partition FastestPartition(const SharedWork& work, std::int64_t blocks, const NextBlocks& next_blocks,
                           std::int64_t max_stretches, const Cycles& cycles, double more_turns = 0) {
  Partition best;
  double least = std::numeric_limits<double>::infinity();
  for (; blocks > 0; blocks = next_blocks(blocks)) {
    for (std::int64_t stretches = 1; stretches <= std::min(work.columns(), max_stretches); stretches *= 2) {
      Partition partition = Partition::Into(work, blocks, stretches);
      const double turns = static_cast<double>(CeilDiv(partition.parts(), work.num_threads)) + more_turns;
      const double all = turns * cycles(&partition);
      if (all < least) {
        best = partition;
        least = all;
      }
    }
  }
  return best;
}

// Like FastestPartition, into many parts: a slow core, as where another program uses its tiles, too, takes fewer.
template <class Cycles>
Partition FastestOfManyParts(const SharedWork& work, std::int64_t least_blocks, std::int64_t max_stretches,
                             const Cycles& cycles) {
  const std::int64_t threads = work.num_threads,
                     most = std::min(CeilDiv(work.rows, work.row_step), least_blocks + 8 * threads);
  const auto next_blocks = [&](std::int64_t blocks) -> std::int64_t {
    const std::int64_t more = blocks - least_blocks;
    return blocks >= most ? 0 : std::min(most, least_blocks + (more < threads ? more + 1 : 2 * more));
  };
  return FastestPartition(work, least_blocks, next_blocks, max_stretches, cycles, threads > 1 ? 0.5 : 0);
}

// What lies so many bytes or numbers behind `data`, where there is any.
inline const char* Offset(const void* data, std::int64_t bytes) {
  return data == nullptr ? nullptr : static_cast<const char*>(data) + bytes;
}
inline const float* Offset(const float* data, std::int64_t count) { return data == nullptr ? nullptr : data + count; }

}  // namespace amp::kernels
