#include "kernels/depthwise/fused_depthwise.h"

#include <algorithm>

#include "kernels/base/float_bits.h"
#include "kernels/threads/partition.h"

namespace amp::kernels {
namespace {

std::int64_t Taps(const FusedDepthwise& job) { return job.kernel_height * job.kernel_width; }
// The pairs of a channel, for windows that begin with the first number of a pair and for others.
std::int64_t PairsOfTaps(const FusedDepthwise& job) { return job.kernel_height * DepthwisePairs(job.kernel_width) * 2; }

// `weights`, `to`: of one channel.
void PackPairs(const FusedDepthwise& job, const float* weights, std::uint16_t* to) {
  for (std::int64_t y = 0; y < job.kernel_height; ++y, weights += job.kernel_width) {
    for (std::int64_t i = 0; i < 2 * DepthwisePairs(job.kernel_width); ++i, to += 2 * kGemmBlock) {
      const std::int64_t first = i / 2 * 2 - i % 2;  // tap
      if (first >= 0 && first < job.kernel_width) to[0] = FloatToBF16(weights[first]);
      if (first + 1 < job.kernel_width) to[1] = FloatToBF16(weights[first + 1]);
    }
  }
}

bool IsEmpty(const FusedDepthwise& job) {
  return job.batch == 0 || job.out_height == 0 || job.out_width == 0 || job.out_channels == 0;
}

// Bytes of what a part needs for so many rows of the result.
struct Room {
  std::int64_t source_tiles = 0, window = 0, tiles = 0, between = 0, factors = 0;
  std::int64_t bytes() const { return source_tiles + window + tiles + between + factors; }
};

Room RoomOf(const FusedDepthwise& job, std::int64_t rows) {
  constexpr std::int64_t kLine = 64;
  const std::int64_t source_rows = std::min((rows - 1) * job.stride + job.kernel_height, job.height);
  const auto tiles = [&](const Gemm& product, std::int64_t positions) {
    return RoundUp(GemmTileBytes(product, positions, GemmFullDepth(product)), kLine);
  };
  Room room;
  if (job.expands) room.source_tiles = tiles(job.Expansion(), source_rows * job.width);
  const std::int64_t window_rows =
      job.compute_type == ComputeType::kBFloat16 ? DepthwiseTileWindowRows(job) : DepthwiseWindowRows(job);
  room.window = kGemmColumns * window_rows * DepthwiseWindowColumns(job) * static_cast<std::int64_t>(sizeof(float));
  room.tiles = tiles(job.Projection(), rows * job.out_width);
  if (!job.multiplies_int16()) return room;
  const std::int64_t channels = RoundUp(job.channels, kGemmBlock);
  room.between =
      channels / kGemmBlock * GemmBlockStride(rows * job.out_width) * static_cast<std::int64_t>(sizeof(float));
  room.factors = channels * static_cast<std::int64_t>(sizeof(float));
  return room;
}

// Rows that the caches of a core hold.
std::int64_t MaxRows(const FusedDepthwise& job) {
  const std::int64_t cache_bytes = job.cache_bytes > 0 ? job.cache_bytes : SecondLevelCacheBytes();
  const std::int64_t most = std::min<std::int64_t>(640 << 10, cache_bytes / 8 * 7);
  std::int64_t rows = 1;
  while (rows < job.out_height && RoomOf(job, rows + 1).bytes() <= most) ++rows;
  return rows;
}

// Strips of nearly equal height. Where there are few, all threads get equally many.
Partition StripsOf(const FusedDepthwise& job) {
  constexpr std::int64_t kManyTurns = 4;
  const std::int64_t threads = job.num_threads;
  std::int64_t count = CeilDiv(job.out_height, MaxRows(job));
  if (job.batch * count < kManyTurns * threads) {
    std::int64_t even = count;
    while (even < job.out_height && job.batch * even % threads != 0) ++even;
    if (job.batch * even % threads == 0) count = even;
  }
  return Partition::Into({.groups = job.batch, .rows = job.out_height, .num_threads = job.num_threads}, count);
}

FusedDepthwisePart PartAt(const PartOfWork& place, const Room& room, char* scratch) {
  FusedDepthwisePart part;
  part.image = place.group;
  part.first_row = place.first_row;
  part.num_rows = place.num_rows;
  part.source_tiles = scratch;
  part.window = reinterpret_cast<float*>(scratch + room.source_tiles);
  part.tiles = scratch + room.source_tiles + room.window;
  part.between = reinterpret_cast<float*>(scratch + room.source_tiles + room.window + room.tiles);
  part.factors = part.between + room.between / static_cast<std::int64_t>(sizeof(float));
  return part;
}

// Getters are compiled for the instruction sets, too: one is asked only where the CPU has its own.
const FusedDepthwiseTable& TableOf(ComputeType compute_type) {
  if (compute_type == ComputeType::kFloat32) return BestTable<FusedDepthwiseTable>();
  if (compute_type == ComputeType::kInt16) return *Int16Table<FusedDepthwiseTable>();
  const FusedDepthwiseTable* tiled = AllowsTiles() ? FusedDepthwiseTable::Avx512AMX() : nullptr;
  return tiled != nullptr ? *tiled : *FusedDepthwiseTable::Avx512BF16();
}

}  // namespace

Gemm FusedDepthwise::Expansion() const {
  return {.compute_type = compute_type, .in_channels = in_channels, .out_channels = channels};
}

Gemm FusedDepthwise::Projection() const {
  return {.compute_type = compute_type, .in_channels = channels, .out_channels = out_channels};
}

std::size_t PackedDepthwiseBytes(const FusedDepthwise& job) {
  const std::int64_t pairs = job.compute_type == ComputeType::kBFloat16 ? PairsOfTaps(job) : 0;
  return static_cast<std::size_t>(RoundUp(job.channels, kGemmBlock) * (Taps(job) + pairs)) * sizeof(float);
}

// [channel / 16][tap][channel % 16]. What lies beyond the last channel is zero. Behind them, for bfloat16, pairs of
// taps: [channel / 16][row][pair][0: the first number of the first pair is a tap's; 1: the second is][channel % 16][2].
void PackDepthwiseWeights(const FusedDepthwise& job, const float* weights, float* packed) {
  const std::int64_t taps = Taps(job);
  std::fill_n(packed, PackedDepthwiseBytes(job) / sizeof(float), 0.0f);
  for (std::int64_t c = 0; c < job.channels; ++c) {
    float* to = packed + c / kGemmBlock * taps * kGemmBlock + c % kGemmBlock;
    for (std::int64_t tap = 0; tap < taps; ++tap) to[tap * kGemmBlock] = weights[c * taps + tap];
  }
  if (job.compute_type != ComputeType::kBFloat16) return;
  auto* pairs = reinterpret_cast<std::uint16_t*>(packed + RoundUp(job.channels, kGemmBlock) * taps);
  for (std::int64_t c = 0; c < job.channels; ++c) {
    const std::int64_t block = c / kGemmBlock * PairsOfTaps(job) * kGemmBlock;
    PackPairs(job, weights + c * taps, pairs + 2 * (block + c % kGemmBlock));
  }
}

std::size_t FusedDepthwiseScratchBytes(const FusedDepthwise& job) {
  if (IsEmpty(job)) return 0;
  return static_cast<std::size_t>(RoomOf(job, StripsOf(job).rows).bytes() * job.num_threads);
}

std::int64_t FusedDepthwiseStrip(const FusedDepthwise& job) { return StripsOf(job).rows; }

void RunFusedDepthwiseWith(const FusedDepthwiseTable& table, const FusedDepthwise& job, const FusedDepthwiseData& data,
                           void* scratch) {
  if (IsEmpty(job)) return;
  const Partition strips = StripsOf(job);
  const Room room = RoomOf(job, strips.rows);
  const FusedDepthwiseTable::Run run = table.run[static_cast<std::size_t>(job.compute_type)];
  strips.ForEach(scratch, room.bytes(),
                 [&](const PartOfWork& place, char* memory) { run(job, data, PartAt(place, room, memory)); });
}

void RunFusedDepthwise(const FusedDepthwise& job, const FusedDepthwiseData& data, void* scratch) {
  RunFusedDepthwiseWith(TableOf(job.compute_type), job, data, scratch);
}

}  // namespace amp::kernels
