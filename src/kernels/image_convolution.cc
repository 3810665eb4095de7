#include "kernels/image_convolution.h"

#include <algorithm>

#include "kernels/parallel.h"

namespace amp::kernels {
namespace {

std::int64_t RoundUp(std::int64_t x, std::int64_t to) { return (x + to - 1) / to * to; }
std::int64_t Quotient(std::int64_t x, std::int64_t by) { return (x + by - 1) / by; }

bool IsEmpty(const ImageConvolution& job) { return job.product.rows() == 0 || job.product.out_channels == 0; }

// Bytes of what a part needs for so many rows of the result.
struct Room {
  std::int64_t taps = 0, rows = 0;
  std::int64_t both() const { return taps + rows; }
};

Room RoomOf(const ImageConvolution& job, std::int64_t rows) {
  constexpr std::int64_t kLine = 64;
  const auto taps = job.product.in_channels * static_cast<std::int64_t>(sizeof(std::int64_t));
  const auto row_bytes = ImageColumns(job) * static_cast<std::int64_t>(sizeof(float));
  return {RoundUp(taps, kLine), RoundUp(job.channels * ImageRows(job, rows) * row_bytes, kLine)};
}

// Bands of rows of the result.
struct Bands {
  std::int64_t rows = 0, count = 0;  // of an image
};

// Rows that windows share are copied once for a band. All threads get about the same.
Bands BandsOf(const ImageConvolution& job) {
  constexpr std::int64_t kMaxRows = 8;
  const std::int64_t height = job.product.height, least = Quotient(height, kMaxRows);
  const std::int64_t count = job.product.batch == 1 ? RoundUp(least, job.product.num_threads) : least;
  const std::int64_t rows = Quotient(height, count);
  return {rows, Quotient(height, rows)};
}

ImageConvolutionPart PartAt(const ImageConvolution& job, const Bands& bands, std::int64_t i, char* scratch) {
  ImageConvolutionPart part;
  part.image = i / bands.count;
  part.first_row = i % bands.count * bands.rows;
  part.num_rows = std::min(bands.rows, job.product.height - part.first_row);
  part.taps = reinterpret_cast<std::int64_t*>(scratch);
  part.rows = reinterpret_cast<float*>(scratch + RoomOf(job, bands.rows).taps);
  return part;
}

const ImageConvolutionTable& Table() {
  static const ImageConvolutionTable& table =
      BestTable<ImageConvolutionTable>({{Isa::kGeneric, ImageConvolutionTableGeneric},
                                        {Isa::kAvx2, ImageConvolutionTableAvx2},
                                        {Isa::kAvx512, ImageConvolutionTableAvx512}});
  return table;
}

}  // namespace

std::size_t ImageConvolutionScratchBytes(const ImageConvolution& job) {
  if (IsEmpty(job)) return 0;
  return static_cast<std::size_t>(RoomOf(job, BandsOf(job).rows).both() * job.product.num_threads);
}

void RunImageConvolutionWith(const ImageConvolutionTable& table, const ImageConvolution& job, const PointwiseData& data,
                             void* scratch) {
  if (IsEmpty(job)) return;
  const Bands bands = BandsOf(job);
  const std::int64_t bytes = RoomOf(job, bands.rows).both();
  const ThreadScope threads(job.product.num_threads);
  ParallelFor(job.product.batch * bands.count, 1, [&](std::int64_t i) {
    table.run(job, data, PartAt(job, bands, i, static_cast<char*>(scratch) + CurrentPlace().part * bytes));
  });
}

void RunImageConvolution(const ImageConvolution& job, const PointwiseData& data, void* scratch) {
  RunImageConvolutionWith(Table(), job, data, scratch);
}

}  // namespace amp::kernels
