#include "kernels/gemm/pointwise.h"

#include <algorithm>

#include "kernels/base/round_up.h"
#include "kernels/gemm/pointwise_split.h"
#include "kernels/gemm/pointwise_weights.h"
#include "kernels/gemm/strassen.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

std::size_t IndexOf(Multiplies multiplies) { return static_cast<std::size_t>(multiplies); }

// ---- parts ----

// Packed rows of a part stay in a core's cache, beside columns of weights and sums.
std::int64_t MostTileBytes() { return SecondLevelCacheBytes() / 16 * 3; }

// Of a stretch of input channels: sums are read and written once for each.
constexpr std::int64_t kLeastDepth = 384;

// All input channels of them stay in a core's cache. Where taps share packed positions, a row has one position and
// about as much of the rows around it.
std::int64_t MaxTileRows(const Pointwise& job) {
  constexpr std::int64_t kMax = 512, kTogether = 2 * kPointwiseTileRows;
  const bool has_grid = job.batch == 1 && HasPointwiseGrid(job);
  const std::int64_t channels = has_grid ? 2 * job.window.channels : PointwiseFullDepth(job);
  const std::int64_t rows = SecondLevelCacheBytes() / 4 / (channels * PointwiseElementBytes(job));
  return std::clamp(rows / kTogether * kTogether, kTogether, kMax);
}

// Columns of weights are read for some rows at least. Where these are too many for the cache, their input channels are
// packed one stretch after the other.
std::int64_t MaxRows(const Pointwise& job) {
  if (UsesPointwiseTiles(job)) return MaxTileRows(job);
  constexpr std::int64_t kMax = 224;
  const std::int64_t together = PointwiseRowsTogether();
  const std::int64_t depth = std::min(kLeastDepth, RoundUp(job.in_channels, kPointwiseBlock));
  const std::int64_t rows = MostTileBytes() / (depth * PointwiseElementBytes(job));
  return std::clamp(rows / together * together, together, kMax / together * together);
}

// Where a column of weights has several pieces, all rows are multiplied by one before the next: it stays in the nearest
// cache meanwhile.
std::int64_t MaxDepth(const Pointwise& job, std::int64_t rows) {
  constexpr std::int64_t kPieceBytes = 16 << 10;
  const std::int64_t columns = 2 * VectorFloats();
  if (columns < kPointwiseColumns) return kPieceBytes / (columns * PointwiseElementBytes(job));
  return std::max(kLeastDepth, MostTileBytes() / (rows * PointwiseElementBytes(job)));
}

// Stretches are about equal. Results do not depend on them: sums go on where they ended.
std::int64_t Depth(const Pointwise& job, std::int64_t rows) {
  if (UsesPointwiseTiles(job)) return PointwiseFullDepth(job);
  const std::int64_t step = PointwiseDepthStep(job), steps = std::max<std::int64_t>(1, Quotient(job.in_channels, step));
  const std::int64_t stretches = Quotient(steps, std::max<std::int64_t>(1, MaxDepth(job, rows) / step));
  return Quotient(steps, stretches) * step;
}

const char* Moved(const void* data, std::int64_t bytes) {
  return data == nullptr ? nullptr : static_cast<const char*>(data) + bytes;
}
const float* Moved(const float* data, std::int64_t count) { return data == nullptr ? nullptr : data + count; }

// Parts that follow each other share rows.
PointwisePart PartAt(const Pointwise& job, const PointwiseData& data, const PointwiseSplit& split, std::int64_t i) {
  const std::int64_t channel = i % split.stretches * split.channels;
  PointwisePart part;
  part.data = data;
  part.data.weights = PointwiseColumnAt(job, data.weights, channel / kPointwiseColumns);
  part.factors = static_cast<const float*>(data.weights);
  part.data.bias = Moved(data.bias, channel);
  part.data.slopes = Moved(data.slopes, channel);
  part.data.sum = Moved(data.sum, channel * (job.sum.is_bf16 ? 2 : 4));
  part.data.destination = const_cast<char*>(Moved(data.destination, channel * (job.destination.is_bf16 ? 2 : 4)));
  part.first_row = i / split.stretches * split.rows;
  part.num_rows = std::min(split.rows, job.rows() - part.first_row);
  part.num_channels = std::min(split.channels, job.out_channels - channel);
  part.depth = Depth(job, split.rows);
  return part;
}

// The scratch memory of a part: packed rows, then sums.
struct PartBytes {
  std::int64_t tiles = 0, sums = 0;
  std::int64_t both() const { return tiles + sums; }
};

PartBytes BytesOf(const Pointwise& job, const PointwiseSplit& split) {
  const std::int64_t depth = Depth(job, split.rows);
  PartBytes bytes;
  bytes.tiles = RoundUp(PointwiseTileBytes(job, split.rows, depth), 64);
  if (depth < job.in_channels) bytes.sums = split.rows * split.channels * static_cast<std::int64_t>(sizeof(float));
  return bytes;
}

bool IsEmpty(const Pointwise& job) { return job.rows() == 0 || job.out_channels == 0; }

// ---- tables ----

const PointwiseTable& Floats() {
  static const PointwiseTable& table = BestTable<PointwiseTable>(
      {{Isa::kGeneric, PointwiseTableGeneric}, {Isa::kAvx2, PointwiseTableAvx2}, {Isa::kAvx512, PointwiseTableAvx512}});
  return table;
}

// Null where there is no code for the CPU.
const PointwiseTable* TableOf(Multiplies multiplies) {
  static const bool is_wide = AllowedIsa() >= Isa::kAvx512;
  static const PointwiseTable* bf16 = !is_wide || !CpuHasBF16() ? nullptr
                                      : AllowsTiles()           ? PointwiseTableAvx512AMX()
                                                                : PointwiseTableAvx512BF16();
  static const PointwiseTable* int16 = Int16Table(PointwiseTableAvx512VNNI, PointwiseTableAvx2);
  if (multiplies == Multiplies::kFloat32) return &Floats();
  return multiplies == Multiplies::kBFloat16 ? bf16 : int16;
}

}  // namespace

std::int64_t PointwiseRowsTogether() { return Floats().rows; }

bool UsesPointwiseTiles(const Pointwise& job) { return job.multiplies_bf16() && AllowsTiles(); }

bool HasPointwise(Multiplies multiplies) { return TableOf(multiplies) != nullptr; }

std::size_t PackedPointwiseBytes(const Pointwise& job) {
  return job.strassen ? PackedStrassenBytes(job) : PackedColumnsBytes(job);
}

void PackPointwiseWeights(const Pointwise& job, const float* weights, void* packed) {
  job.strassen ? PackStrassenWeights(job, weights, packed) : PackPointwiseColumns(job, weights, packed);
}

std::size_t PointwiseScratchBytes(const Pointwise& job) {
  if (IsEmpty(job)) return 0;
  if (job.strassen) return StrassenScratchBytes(job);
  return static_cast<std::size_t>(BytesOf(job, SplitPointwise(job, MaxRows(job))).both() * job.num_threads);
}

void RunPointwiseWith(const PointwiseTable& table, const Pointwise& job, const PointwiseData& data, void* scratch) {
  if (IsEmpty(job)) return;
  if (job.strassen) return RunStrassen(table.strassen[IndexOf(job.multiplies)], job, data, scratch);
  const PointwiseSplit split = SplitPointwise(job, MaxRows(job));
  const PartBytes bytes = BytesOf(job, split);
  const PointwiseTable::Run run = table.run[IndexOf(job.multiplies)];
  const ThreadScope threads(job.num_threads);
  ParallelFor(split.parts(), 1, [&](std::int64_t i) {
    char* tiles = static_cast<char*>(scratch) + CurrentPlace().part * bytes.both();
    run(job, PartAt(job, data, split, i), tiles, reinterpret_cast<float*>(tiles + bytes.tiles));
  });
}

void RunPointwise(const Pointwise& job, const PointwiseData& data, void* scratch) {
  RunPointwiseWith(*TableOf(job.multiplies), job, data, scratch);
}

}  // namespace amp::kernels
