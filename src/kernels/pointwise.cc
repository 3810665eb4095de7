#include "kernels/pointwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/float_bits.h"
#include "kernels/int16_products.h"
#include "kernels/parallel.h"

namespace amp::kernels {
namespace {

std::int64_t RoundUp(std::int64_t x, std::int64_t to) { return (x + to - 1) / to * to; }
std::int64_t Quotient(std::int64_t x, std::int64_t by) { return (x + by - 1) / by; }

std::int64_t PerUnit(const Pointwise& job) { return job.multiplies == Multiplies::kFloat32 ? 1 : 2; }
std::int64_t Element(const Pointwise& job) { return 4 / PerUnit(job); }
std::size_t IndexOf(Multiplies multiplies) { return static_cast<std::size_t>(multiplies); }

// ---- weights ----

std::int64_t ColumnBytes(const Pointwise& job) { return PointwiseColumnElements(job) * Element(job); }
std::int64_t FactorBytes(const Pointwise& job) {
  const auto bytes = PointwiseFactors(job.in_channels) * static_cast<std::int64_t>(sizeof(float));
  return job.multiplies_int16() ? bytes : 0;
}
std::int64_t NumColumns(const Pointwise& job) { return Quotient(job.out_channels, kPointwiseColumns); }

void Round(float x, float* to) { *to = x; }
void Round(float x, std::uint16_t* to) { *to = FloatToBF16(x); }

// The output channels of one column. What lies beyond the last channel is zero.
template <class T>
void PackColumn(const Pointwise& job, const float* weights, std::int64_t column, T* packed) {
  const std::int64_t unit = PerUnit(job), first = column * kPointwiseColumns;
  T* to = packed + column * PointwiseColumnElements(job);
  std::fill_n(to, PointwiseColumnElements(job), T{});
  for (std::int64_t c = 0; c < std::min(kPointwiseColumns, job.out_channels - first); ++c) {
    const float* from = weights + (first + c) * job.in_channels;
    for (std::int64_t k = 0; k < job.in_channels; ++k) {
      Round(from[k], to + k / unit * unit * kPointwiseColumns + c * unit + k % unit);
    }
  }
}

// (out_channels, taps, channels)
std::vector<float> TapByTap(const Pointwise& job, const float* weights) {
  const std::int64_t taps = job.window.taps(), channels = job.window.channels;
  std::vector<float> ordered(static_cast<std::size_t>(job.out_channels * job.in_channels));
  float* to = ordered.data();
  for (std::int64_t out = 0; out < job.out_channels; ++out, weights += job.in_channels) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (std::int64_t c = 0; c < channels; ++c) *to++ = weights[c * taps + tap];
    }
  }
  return ordered;
}

// ---- weights of int16 ----

void FindFactors(const Pointwise& job, const float* weights, float* factors) {
  std::vector<double> squares(static_cast<std::size_t>(job.in_channels));
  for (std::int64_t c = 0; c < job.out_channels; ++c) {
    for (std::int64_t k = 0; k < job.in_channels; ++k) {
      const auto weight = static_cast<double>(weights[c * job.in_channels + k]);
      squares[static_cast<std::size_t>(k)] += weight * weight;
    }
  }
  std::vector<float> found(squares.size());
  FindInt16Factors(squares.data(), job.in_channels, found.data());
  std::fill_n(factors, PointwiseFactors(job.in_channels), 0.0f);
  for (std::int64_t k = 0; k < job.in_channels; ++k) factors[PointwiseFactorAt(k)] = found[static_cast<std::size_t>(k)];
}

// Magnitudes add up to what may be multiplied with the largest numbers; with room for rounding.
float ScaleOf(const std::vector<float>& weights, std::int64_t begin, std::int64_t end) {
  const auto max_sum = static_cast<float>(kInt16MaxWeights - (end - begin));
  float scale = kInt16LeastScale, sum = 0;
  for (std::int64_t k = begin; k < end; ++k) {
    const float magnitude = std::abs(weights[static_cast<std::size_t>(k)]);
    RaiseInt16Scale(magnitude / kInt16MaxWeight, &scale);
    sum += magnitude;
  }
  RaiseInt16Scale(sum / max_sum, &scale);
  return scale;
}

// See PackColumn.
void PackInt16Column(const Pointwise& job, const float* weights, const float* factors, std::int64_t column,
                     char* packed) {
  const std::int64_t first = column * kPointwiseColumns, chunk = PointwiseChunk(job.in_channels);
  auto* to = reinterpret_cast<std::int16_t*>(packed + column * ColumnBytes(job));
  std::fill_n(to, PointwiseColumnElements(job), std::int16_t{0});
  char* scales = packed + (column + 1) * ColumnBytes(job) -
                 PointwiseChunks(job.in_channels) * kPointwiseColumns * static_cast<std::int64_t>(sizeof(float));
  std::vector<float> row(static_cast<std::size_t>(job.in_channels));
  for (std::int64_t c = 0; c < std::min(kPointwiseColumns, job.out_channels - first); ++c) {
    for (std::int64_t k = 0; k < job.in_channels; ++k) {
      row[static_cast<std::size_t>(k)] = weights[(first + c) * job.in_channels + k] / factors[PointwiseFactorAt(k)];
    }
    for (std::int64_t begin = 0; begin < job.in_channels; begin += chunk) {
      const std::int64_t end = std::min(begin + chunk, job.in_channels);
      const float scale = ScaleOf(row, begin, end), inverse = 1 / scale;
      std::memcpy(scales + (begin / chunk * kPointwiseColumns + c) * 4, &scale, sizeof scale);
      for (std::int64_t k = begin; k < end; ++k) {
        to[k / 2 * 2 * kPointwiseColumns + c * 2 + k % 2] = RoundToInt16(row[static_cast<std::size_t>(k)] * inverse);
      }
    }
  }
}

void PackInt16(const Pointwise& job, const float* weights, char* packed) {
  auto* factors = reinterpret_cast<float*>(packed);
  FindFactors(job, weights, factors);
  ParallelFor(NumColumns(job), 1,
              [&](std::int64_t column) { PackInt16Column(job, weights, factors, column, packed + FactorBytes(job)); });
}

// ---- parts ----

struct Split {
  std::int64_t rows = 0, blocks = 0;         // of rows
  std::int64_t channels = 0, stretches = 0;  // of output channels
  std::int64_t parts() const { return blocks * stretches; }
};

// About how many cycles of a core a part takes. The constants are those of a CPU with AVX-512; what counts is which of
// two splits is faster.
double PartCycles(const Pointwise& job, std::int64_t rows, std::int64_t channels) {
  constexpr double kFinishCycles = 3, kCallCycles = 30, kBytesPerCycle = 7;
  const double pack_cycles = job.multiplies_int16() ? 4 : 2;
  constexpr std::int64_t kTogether = 14;
  const auto depth = static_cast<double>(job.in_channels);
  const auto vectors = static_cast<double>(rows * Quotient(channels, kPointwiseBlock));
  const auto calls = static_cast<double>(Quotient(rows, kTogether) * Quotient(channels, kPointwiseColumns));
  const double multiply = vectors * depth / static_cast<double>(2 * PerUnit(job));
  const double weights = depth * static_cast<double>(channels * Element(job)) / kBytesPerCycle;
  const double pack = static_cast<double>(rows) * depth / kPointwiseBlock * pack_cycles;
  return std::max(multiply, weights) + pack + vectors * kFinishCycles + calls * kCallCycles;
}

Split SplitInto(const Pointwise& job, std::int64_t blocks, std::int64_t stretches) {
  Split split;
  split.rows = Quotient(job.rows(), blocks);
  split.blocks = Quotient(job.rows(), split.rows);
  split.channels = Quotient(NumColumns(job), stretches) * kPointwiseColumns;
  split.stretches = Quotient(job.out_channels, split.channels);
  return split;
}

// Packed rows of a part stay in a core's cache, beside columns of weights and sums.
std::int64_t MostTileBytes() { return SecondLevelCacheBytes() / 16 * 3; }

// Of a stretch of input channels: sums are read and written once for each.
constexpr std::int64_t kLeastDepth = 384;

// Columns of weights are read for some rows at least. Where these are too many for the cache, their input channels are
// packed one stretch after the other.
std::int64_t MaxRows(const Pointwise& job) {
  constexpr std::int64_t kMax = 224, kTogether = 14;
  const std::int64_t depth = std::min(kLeastDepth, RoundUp(job.in_channels, kPointwiseBlock));
  const std::int64_t rows = MostTileBytes() / (depth * Element(job));
  return std::clamp(rows / kTogether * kTogether, kTogether, kMax);
}

// Stretches are about equal. Results do not depend on them: sums go on where they ended.
std::int64_t Depth(const Pointwise& job, std::int64_t rows) {
  const std::int64_t most = std::max(kLeastDepth, MostTileBytes() / (rows * Element(job)));
  const std::int64_t stretches = std::max<std::int64_t>(1, Quotient(job.in_channels, most));
  const std::int64_t depth = std::max<std::int64_t>(1, Quotient(job.in_channels, stretches));
  return RoundUp(depth, PointwiseDepthStep(job));
}

// All threads get about the same.
Split SplitJob(const Pointwise& job) {
  constexpr std::int64_t kManyTurns = 8;
  const std::int64_t least = Quotient(job.rows(), MaxRows(job)), threads = job.num_threads;
  if (least >= kManyTurns * threads) return SplitInto(job, RoundUp(least, threads), 1);
  Split best;
  double fewest = 0;
  for (std::int64_t blocks = least; blocks <= job.rows() && blocks <= least + 2 * threads; ++blocks) {
    for (std::int64_t stretches = 1; stretches <= std::min(NumColumns(job), 4 * threads); stretches *= 2) {
      const Split split = SplitInto(job, blocks, stretches);
      const auto turns = static_cast<double>(Quotient(split.parts(), threads));
      const double cycles = turns * PartCycles(job, split.rows, std::min(split.channels, job.out_channels));
      if (best.rows == 0 || cycles < fewest) {
        best = split;
        fewest = cycles;
      }
    }
  }
  return best;
}

const char* Moved(const void* data, std::int64_t bytes) {
  return data == nullptr ? nullptr : static_cast<const char*>(data) + bytes;
}
const float* Moved(const float* data, std::int64_t count) { return data == nullptr ? nullptr : data + count; }

// Parts that follow each other share rows.
PointwisePart PartAt(const Pointwise& job, const PointwiseData& data, const Split& split, std::int64_t i) {
  const std::int64_t channel = i % split.stretches * split.channels;
  PointwisePart part;
  part.data = data;
  part.data.weights = Moved(data.weights, FactorBytes(job) + channel / kPointwiseColumns * ColumnBytes(job));
  part.factors = static_cast<const float*>(data.weights);
  part.data.bias = Moved(data.bias, channel);
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

PartBytes BytesOf(const Pointwise& job, const Split& split) {
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

// Null where the CPU does not multiply such numbers.
const PointwiseTable* TableOf(Multiplies multiplies) {
  static const bool is_wide = AllowedIsa() >= Isa::kAvx512;
  static const PointwiseTable* bf16 = is_wide && CpuHasBF16() ? PointwiseTableAvx512BF16() : nullptr;
  static const PointwiseTable* int16 = is_wide && CpuHasVNNI() ? PointwiseTableAvx512VNNI() : nullptr;
  if (multiplies == Multiplies::kFloat32) return &Floats();
  return multiplies == Multiplies::kBFloat16 ? bf16 : int16;
}

}  // namespace

bool HasPointwise(Multiplies multiplies) { return TableOf(multiplies) != nullptr; }

std::size_t PackedPointwiseBytes(const Pointwise& job) {
  return static_cast<std::size_t>(FactorBytes(job) + NumColumns(job) * ColumnBytes(job));
}

void PackPointwiseWeights(const Pointwise& job, const float* weights, void* packed) {
  std::vector<float> ordered;
  if (job.window.channels > 0) {
    ordered = TapByTap(job, weights);
    weights = ordered.data();
  }
  if (job.multiplies_int16()) return PackInt16(job, weights, static_cast<char*>(packed));
  ParallelFor(NumColumns(job), 1, [&](std::int64_t column) {
    if (job.multiplies_bf16()) {
      PackColumn(job, weights, column, static_cast<std::uint16_t*>(packed));
    } else {
      PackColumn(job, weights, column, static_cast<float*>(packed));
    }
  });
}

std::size_t PointwiseScratchBytes(const Pointwise& job) {
  if (IsEmpty(job)) return 0;
  return static_cast<std::size_t>(BytesOf(job, SplitJob(job)).both() * job.num_threads);
}

void RunPointwiseWith(const PointwiseTable& table, const Pointwise& job, const PointwiseData& data, void* scratch) {
  if (IsEmpty(job)) return;
  const Split split = SplitJob(job);
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
