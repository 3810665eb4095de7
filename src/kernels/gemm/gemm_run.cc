#include "kernels/gemm/gemm.h"

#include <algorithm>

#include "kernels/gemm/gemm_weights.h"
#include "kernels/gemm/strassen.h"

namespace amp::kernels {
namespace {

std::size_t IndexOf(ComputeType compute_type) { return static_cast<std::size_t>(compute_type); }

// ---- parts ----

// Packed rows of a part stay in a core's cache, beside columns of weights and sums.
std::int64_t MostTileBytes() { return SecondLevelCacheBytes() / 16 * 3; }

// The least input channels of a stretch: sums are read and written once for each.
constexpr std::int64_t kLeastDepth = 384;

// All input channels of them stay in a core's cache. Where taps share packed positions, a row has one position and
// about as much of the rows around it.
std::int64_t MaxTileRows(const Gemm& job) {
  constexpr std::int64_t kMax = 512, kTogether = 2 * kGemmTileRows;
  const bool has_grid = job.batch == 1 && HasGemmGrid(job);
  const std::int64_t channels = has_grid ? 2 * job.window.channels : GemmFullDepth(job);
  const std::int64_t rows = SecondLevelCacheBytes() / 4 / (channels * GemmElementBytes(job));
  return std::clamp(rows / kTogether * kTogether, kTogether, kMax);
}

// Columns of weights are read for some rows at least. Where these are too many for the cache, their input channels are
// packed one stretch after the other.
std::int64_t MaxRows(const Gemm& job) {
  if (UsesGemmTiles(job)) return MaxTileRows(job);
  constexpr std::int64_t kMax = 224;
  const std::int64_t together = GemmRowsTogether();
  const std::int64_t depth = std::min(kLeastDepth, RoundUp(job.in_channels, kGemmBlock));
  const std::int64_t rows = MostTileBytes() / (depth * GemmElementBytes(job));
  return std::clamp(rows / together * together, together, kMax / together * together);
}

// Where a column of weights has several pieces, all rows are multiplied by one before the next: it stays in the nearest
// cache meanwhile.
std::int64_t MaxDepth(const Gemm& job, std::int64_t rows) {
  constexpr std::int64_t kPieceBytes = 16 << 10;
  const std::int64_t columns = 2 * VectorFloats();
  if (columns < kGemmColumns) return kPieceBytes / (columns * GemmElementBytes(job));
  return std::max(kLeastDepth, MostTileBytes() / (rows * GemmElementBytes(job)));
}

// Stretches are about equal. Results do not depend on them: sums go on where they ended.
std::int64_t Depth(const Gemm& job, std::int64_t rows) {
  if (UsesGemmTiles(job)) return GemmFullDepth(job);
  const std::int64_t step = GemmDepthStep(job), steps = std::max<std::int64_t>(1, CeilDiv(job.in_channels, step));
  const std::int64_t stretches = CeilDiv(steps, std::max<std::int64_t>(1, MaxDepth(job, rows) / step));
  return CeilDiv(steps, stretches) * step;
}

GemmPart PartAt(const Gemm& job, const GemmData& data, const Partition& split, const PartOfWork& place) {
  const std::int64_t channel = place.first_channel;
  GemmPart part;
  part.data = data;
  part.data.weights = GemmColumnAt(job, data.weights, channel / kGemmColumns);
  part.factors = static_cast<const float*>(data.weights);
  part.data.bias = Offset(data.bias, channel);
  part.data.slopes = Offset(data.slopes, channel);
  part.data.sum = Offset(data.sum, channel * (job.sum.is_bf16 ? 2 : 4));
  part.data.destination = const_cast<char*>(Offset(data.destination, channel * (job.destination.is_bf16 ? 2 : 4)));
  part.first_row = place.first_row;
  part.num_rows = place.num_rows;
  part.num_channels = place.num_channels;
  part.depth = Depth(job, split.rows);
  return part;
}

// The scratch memory of a part: packed rows, then sums.
struct PartBytes {
  std::int64_t tiles = 0, sums = 0;
  std::int64_t both() const { return tiles + sums; }
};

PartBytes BytesOf(const Gemm& job, const Partition& split) {
  const std::int64_t depth = Depth(job, split.rows);
  PartBytes bytes;
  bytes.tiles = RoundUp(GemmTileBytes(job, split.rows, depth), 64);
  if (depth < job.in_channels) bytes.sums = split.rows * split.channels * static_cast<std::int64_t>(sizeof(float));
  return bytes;
}

bool IsEmpty(const Gemm& job) { return job.rows() == 0 || job.out_channels == 0; }

// ---- tables ----

// Null where there is no code for the CPU.
const GemmTable* TableOf(ComputeType compute_type) {
  static const bool is_wide = AllowedIsa() >= Isa::kAvx512;
  static const GemmTable* bf16 = !is_wide || !CpuHasBF16() ? nullptr
                                 : AllowsTiles()           ? GemmTable::Avx512AMX()
                                                           : GemmTable::Avx512BF16();
  static const GemmTable* int16 = Int16Table<GemmTable>();
  if (compute_type == ComputeType::kFloat32) return &BestTable<GemmTable>();
  return compute_type == ComputeType::kBFloat16 ? bf16 : int16;
}

}  // namespace

std::int64_t GemmRowsTogether() { return BestTable<GemmTable>().rows; }

bool UsesGemmTiles(const Gemm& job) { return job.multiplies_bf16() && AllowsTiles(); }

bool HasGemm(ComputeType compute_type) { return TableOf(compute_type) != nullptr; }

std::size_t PackedGemmBytes(const Gemm& job) {
  return job.strassen ? PackedStrassenBytes(job) : PackedColumnsBytes(job);
}

void PackGemmWeights(const Gemm& job, const float* weights, void* packed) {
  job.strassen ? PackStrassenWeights(job, weights, packed) : PackGemmColumns(job, weights, packed);
}

std::size_t GemmScratchBytes(const Gemm& job) {
  if (IsEmpty(job)) return 0;
  if (job.strassen) return StrassenScratchBytes(job);
  return static_cast<std::size_t>(BytesOf(job, SplitGemm(job, MaxRows(job))).both() * job.num_threads);
}

void RunGemmWith(const GemmTable& table, const Gemm& job, const GemmData& data, void* scratch) {
  if (IsEmpty(job)) return;
  if (job.strassen) return RunStrassen(table.strassen[IndexOf(job.compute_type)], job, data, scratch);
  const Partition split = SplitGemm(job, MaxRows(job));
  const PartBytes bytes = BytesOf(job, split);
  const GemmTable::Run run = table.run[IndexOf(job.compute_type)];
  split.ForEach(scratch, bytes.both(), [&](const PartOfWork& place, char* tiles) {
    run(job, PartAt(job, data, split, place), tiles, reinterpret_cast<float*>(tiles + bytes.tiles));
  });
}

void RunGemm(const Gemm& job, const GemmData& data, void* scratch) {
  RunGemmWith(*TableOf(job.compute_type), job, data, scratch);
}

}  // namespace amp::kernels
