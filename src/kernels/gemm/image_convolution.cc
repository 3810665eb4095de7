#include "kernels/gemm/image_convolution.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/threads/partition.h"

namespace amp::kernels {
namespace {

bool IsEmpty(const ImageConvolution& job) {
  const bool gives_nothing = job.pools() && job.pool.height * job.pool.width == 0;
  return job.product.rows() == 0 || job.product.out_channels == 0 || gives_nothing;
}

// Bytes of what a part needs for so many rows of the result.
struct Room {
  std::int64_t taps = 0, units = 0, kept = 0;
  std::int64_t all() const { return taps + units + kept; }
};

Room RoomOf(const ImageConvolution& job, std::int64_t rows) {
  constexpr std::int64_t kLine = 64, kUnitBytes = 4;
  const auto taps = ImageUnits(job) * static_cast<std::int64_t>(sizeof(std::int64_t));
  const std::int64_t computed = job.pools() ? kImagePoolRows : rows, element = job.product.destination.is_bf16 ? 2 : 4;
  const std::int64_t kept = job.pools() ? ImageKeptRows(job) * job.product.width * job.product.out_channels : 0;
  return {RoundUp(taps, kLine),
          RoundUp(ImagePlanes(job) * ImageRows(job, computed) * ImageColumns(job) * kUnitBytes, kLine),
          RoundUp(kept * element, kLine)};
}

// Rows that windows share are copied once for a band. Rows of results that two bands pool are computed twice, so there
// are as many bands as all threads need.
Partition BandsOf(const ImageConvolution& job) {
  constexpr std::int64_t kMaxRows = 8;
  const std::int64_t threads = job.product.num_threads, batch = job.product.batch;
  const std::int64_t height = job.pools() ? job.pool.height : job.product.height, least = CeilDiv(height, kMaxRows);
  const std::int64_t count = job.pools()  ? threads / std::gcd(batch, threads)
                             : batch == 1 ? RoundUp(least, threads)
                                          : least;
  return Partition::Into({.groups = batch, .rows = height, .num_threads = job.product.num_threads}, count);
}

ImageConvolutionPart PartAt(const PartOfWork& place, const Room& room, char* scratch) {
  ImageConvolutionPart part;
  part.image = place.group;
  part.first_row = place.first_row;
  part.num_rows = place.num_rows;
  part.taps = reinterpret_cast<std::int64_t*>(scratch);
  part.units = scratch + room.taps;
  part.kept = scratch + room.taps + room.units;
  return part;
}

// The weights of an output channel, unit by unit of pairs.
void PairWeights(const ImageConvolution& job, const float* weights, float* to) {
  for (std::int64_t p = 0; p < ImagePlanes(job); ++p) {
    const std::int64_t area = job.kernel_height * job.kernel_width;
    const bool is_alone = 2 * p + 1 == job.channels;
    const float* first = weights + 2 * p * area;
    for (std::int64_t y = 0; y < job.kernel_height; ++y, first += job.kernel_width) {
      for (std::int64_t u = 0; u < ImageUnitsOfRow(job, p); ++u, to += 2) {
        const std::int64_t x = ImageUnitColumn(job, p, u);
        const bool was_met = is_alone && x < 2 * u, is_inside = !is_alone || x + 1 < job.kernel_width;
        to[0] = was_met ? 0 : first[x];
        to[1] = !is_inside ? 0 : first[x + (is_alone ? 1 : area)];
      }
    }
  }
}

}  // namespace

void PackImageConvolutionWeights(const ImageConvolution& job, const float* weights, void* packed) {
  if (!job.product.multiplies_bf16()) return PackGemmWeights(job.product, weights, packed);
  const std::int64_t depth = ImageConvolutionDepth(job), taps = job.channels * job.kernel_height * job.kernel_width;
  std::vector<float> pairs(static_cast<std::size_t>(job.product.out_channels * depth));
  for (std::int64_t c = 0; c < job.product.out_channels; ++c) {
    PairWeights(job, weights + c * taps, pairs.data() + c * depth);
  }
  PackGemmWeights(job.product, pairs.data(), packed);
}

std::size_t ImageConvolutionScratchBytes(const ImageConvolution& job) {
  if (IsEmpty(job)) return 0;
  return static_cast<std::size_t>(RoomOf(job, BandsOf(job).rows).all() * job.product.num_threads);
}

void RunImageConvolutionWith(const ImageConvolutionTable& table, const ImageConvolution& job, const GemmData& data,
                             void* scratch) {
  if (IsEmpty(job)) return;
  const Partition bands = BandsOf(job);
  const Room room = RoomOf(job, bands.rows);
  const ImageConvolutionTable::Run run = table.run[job.product.multiplies_bf16()];
  bands.ForEach(scratch, room.all(),
                [&](const PartOfWork& place, char* memory) { run(job, data, PartAt(place, room, memory)); });
}

void RunImageConvolution(const ImageConvolution& job, const GemmData& data, void* scratch) {
  RunImageConvolutionWith(
      job.product.multiplies_bf16() ? *ImageConvolutionTable::Avx512BF16() : BestTable<ImageConvolutionTable>(), job,
      data, scratch);
}

}  // namespace amp::kernels
