#include "kernels/gemm/gemm_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/base/float_bits.h"
#include "kernels/base/int16_products.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

std::int64_t FactorBytes(const Gemm& job) {
  const auto bytes = GemmFactors(job.in_channels) * static_cast<std::int64_t>(sizeof(float));
  return job.multiplies_int16() ? bytes : 0;
}

void Round(float x, float* to) { *to = x; }
void Round(float x, std::uint16_t* to) { *to = FloatToBF16(x); }

// The output channels of one column. What lies beyond the last channel is zero.
template <class T>
void PackColumn(const Gemm& job, const float* weights, std::int64_t column, T* to) {
  const std::int64_t unit = GemmPerUnit(job), first = column * kGemmColumns;
  std::fill_n(to, GemmColumnElements(job), T{});
  for (std::int64_t c = 0; c < std::min(kGemmColumns, job.out_channels - first); ++c) {
    const float* from = weights + (first + c) * job.in_channels;
    for (std::int64_t k = 0; k < job.in_channels; ++k) {
      Round(from[k], to + k / unit * unit * kGemmColumns + c * unit + k % unit);
    }
  }
}

// (out_channels, taps, channels)
std::vector<float> TapByTap(const Gemm& job, const float* weights) {
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

// Sums of squares by input channel. All output channels count the same; those of zeros or of no number count nothing.
std::vector<double> SumsOfSquares(const Gemm& job, const float* weights) {
  std::vector<double> squares(static_cast<std::size_t>(job.in_channels));
  for (std::int64_t c = 0; c < job.out_channels; ++c, weights += job.in_channels) {
    double all = 0;
    for (std::int64_t k = 0; k < job.in_channels; ++k) all += static_cast<double>(weights[k]) * weights[k];
    if (!(all > 0) || !std::isfinite(all)) continue;
    for (std::int64_t k = 0; k < job.in_channels; ++k) {
      squares[static_cast<std::size_t>(k)] += static_cast<double>(weights[k]) * weights[k] / all;
    }
  }
  return squares;
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
void PackInt16Column(const Gemm& job, const float* weights, const std::vector<float>& factors, std::int64_t column,
                     char* packed) {
  const std::int64_t first = column * kGemmColumns, chunk = GemmChunk(job.in_channels);
  auto* to = reinterpret_cast<std::int16_t*>(packed);
  std::fill_n(to, GemmColumnElements(job), std::int16_t{0});
  char* scales = packed + GemmColumnBytes(job) -
                 GemmChunks(job.in_channels) * kGemmColumns * static_cast<std::int64_t>(sizeof(float));
  std::vector<float> row(static_cast<std::size_t>(job.in_channels));
  for (std::int64_t c = 0; c < std::min(kGemmColumns, job.out_channels - first); ++c) {
    for (std::int64_t k = 0; k < job.in_channels; ++k) {
      row[static_cast<std::size_t>(k)] =
          weights[(first + c) * job.in_channels + k] / factors[static_cast<std::size_t>(k)];
    }
    for (std::int64_t begin = 0; begin < job.in_channels; begin += chunk) {
      const std::int64_t end = std::min(begin + chunk, job.in_channels);
      const float scale = ScaleOf(row, begin, end), inverse = 1 / scale;
      std::memcpy(scales + (begin / chunk * kGemmColumns + c) * 4, &scale, sizeof scale);
      for (std::int64_t k = begin; k < end; ++k) {
        to[k / 2 * 2 * kGemmColumns + c * 2 + k % 2] = RoundToInt16(row[static_cast<std::size_t>(k)] * inverse);
      }
    }
  }
}

// What multiplies int16 divides weights by factors.
void PackAnyColumn(const Gemm& job, const float* weights, const std::vector<float>& factors, std::int64_t column,
                   char* packed) {
  if (job.multiplies_int16()) return PackInt16Column(job, weights, factors, column, packed);
  if (job.multiplies_bf16()) return PackColumn(job, weights, column, reinterpret_cast<std::uint16_t*>(packed));
  PackColumn(job, weights, column, reinterpret_cast<float*>(packed));
}

}  // namespace

std::vector<float> FindGemmFactors(const Gemm& job, const float* weights) {
  const std::vector<double> squares = SumsOfSquares(job, weights);
  std::vector<float> factors(squares.size());
  FindInt16Factors(squares.data(), job.in_channels, factors.data());
  return factors;
}

const void* GemmColumnAt(const Gemm& job, const void* packed, std::int64_t column) {
  return static_cast<const char*>(packed) + FactorBytes(job) + column * GemmColumnBytes(job);
}

std::size_t PackedColumnsBytes(const Gemm& job) {
  return static_cast<std::size_t>(FactorBytes(job) + GemmColumns(job) * GemmColumnBytes(job));
}

void PackGemmColumns(const Gemm& job, const float* weights, void* packed) {
  std::vector<float> ordered, factors;
  if (job.window.channels > 0) {
    ordered = TapByTap(job, weights);
    weights = ordered.data();
  }
  if (job.multiplies_int16()) {
    factors = FindGemmFactors(job, weights);
    auto* to = static_cast<float*>(packed);
    std::fill_n(to, GemmFactors(job.in_channels), 0.0f);
    for (std::int64_t k = 0; k < job.in_channels; ++k) to[GemmFactorAt(k)] = factors[static_cast<std::size_t>(k)];
  }
  char* columns = static_cast<char*>(packed) + FactorBytes(job);
  ParallelFor(GemmColumns(job), 1, [&](std::int64_t column) {
    PackAnyColumn(job, weights, factors, column, columns + column * GemmColumnBytes(job));
  });
}

}  // namespace amp::kernels
