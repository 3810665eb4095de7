#include "kernels/gemm/strassen.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/base/int16_products.h"
#include "kernels/base/round_up.h"
#include "kernels/gemm/gemm_weights.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

// ---- weights ----

// Weights (out_channels, in_channels), divided by factors of input channels and multiplied by those of output channels.
class EqualizedWeights {
 public:
  EqualizedWeights(const Gemm& job, const float* weights)
      : job_(job), half_(StrassenHalf(job)), weights_(weights), factors_(FindGemmFactors(job, weights)) {
    for (std::int64_t c = 0; c < job.out_channels; ++c) by_.push_back(FactorOf(c));
  }

  // Zeros where there is nothing, and in place of an output channel with what is no number.
  float At(std::int64_t channel, std::int64_t k) const {
    if (channel >= job_.out_channels || k >= job_.in_channels || by_[static_cast<std::size_t>(channel)] == 0) return 0;
    return weights_[channel * job_.in_channels + k] / factors_[static_cast<std::size_t>(k)] *
           by_[static_cast<std::size_t>(channel)];
  }

  float Quarter(int quarter, std::int64_t channel, std::int64_t k) const {
    return At(channel + quarter % 2 * half_.out_channels, k + quarter / 2 * half_.in_channels);
  }

  void StoreFactors(float* to) const {
    std::fill_n(to, StrassenFactors(half_), 0.0f);
    for (std::int64_t k = 0; k < job_.in_channels; ++k) {
      to[job_.multiplies_int16() ? GemmFactorAt(k) : k] = factors_[static_cast<std::size_t>(k)];
    }
  }
  void StoreInverses(float* to) const {
    std::fill_n(to, StrassenInverses(half_), 0.0f);
    for (std::int64_t c = 0; c < job_.out_channels; ++c) to[c] = StrassenInverse(by_[static_cast<std::size_t>(c)]);
  }

 private:
  float FactorOf(std::int64_t channel) const {
    float most = 0;
    for (std::int64_t k = 0; k < job_.in_channels; ++k) {
      const float magnitude =
          std::abs(weights_[channel * job_.in_channels + k] / factors_[static_cast<std::size_t>(k)]);
      if (!(magnitude <= most)) most = magnitude;
      if (std::isnan(most)) return 0;
    }
    std::uint32_t bits;
    std::memcpy(&bits, &most, sizeof bits);
    return StrassenFactor(bits);
  }

  const Gemm job_, half_;
  const float* weights_;
  std::vector<float> factors_, by_;
};

// Some output channels of either half, and all input channels: quarters, and those of weights that are multiplied.
class WeightColumn {
 public:
  WeightColumn(const Gemm& half, const EqualizedWeights& weights, std::int64_t column)
      : half_(half), numbers_(static_cast<std::size_t>(4 * kGemmColumns * half.in_channels)) {
    for (int quarter = 0; quarter < 4; ++quarter) {
      for (std::int64_t c = 0; c < kGemmColumns; ++c) {
        for (std::int64_t k = 0; k < half.in_channels; ++k) {
          *At(quarter, c, k) = weights.Quarter(quarter, column * kGemmColumns + c, k);
        }
      }
    }
  }

  // Makes weights integers, and gives the scales: those of a pair of output channels and of a chunk are the same.
  void Round(float* scales) {
    const std::int64_t depth = StrassenDepth(half_);
    for (std::int64_t first = 0; first < half_.in_channels; first += depth) {
      const std::int64_t end = std::min(first + depth, half_.in_channels);
      for (std::int64_t c = 0; c < kGemmColumns; ++c) {
        const float scale = std::max(ScaleOf(c, first, end, 0), ScaleOf(c, first, end, 1));
        scales[first / depth * kGemmColumns + c] = scale;
        for (int quarter = 0; quarter < 4; ++quarter) {
          for (std::int64_t k = first; k < end; ++k) *At(quarter, c, k) = std::nearbyint(*At(quarter, c, k) / scale);
        }
      }
    }
  }

  // Packs weights as StrassenTiles are: [input channel / unit][output channel][input channel % unit].
  template <class T>
  void Pack(int product, T* to) {
    const StrassenSum sum = kStrassenWeights[product];
    const std::int64_t unit = GemmPerUnit(half_);
    for (std::int64_t k = 0; k < half_.in_channels; ++k) {
      for (std::int64_t c = 0; c < kGemmColumns; ++c) {
        const float number = *At(sum.first, c, k) + sum.sign * *At(sum.second, c, k);
        to[k / unit * unit * kGemmColumns + c * unit + k % unit] = static_cast<T>(number);
      }
    }
  }

 private:
  float* At(int quarter, std::int64_t channel, std::int64_t k) {
    return numbers_.data() + (quarter * kGemmColumns + channel) * half_.in_channels + k;
  }

  // The scale of an output channel of a half, so that its results fit int32, with room for rounding.
  float ScaleOf(std::int64_t channel, std::int64_t first, std::int64_t end, int half) {
    const auto max_sum = static_cast<float>(Int16MaxWeights(kStrassenMaxNumber) - 2 * (end - first));
    float most = 0, sum = 0;
    for (const int quarter : {half, 2 + half}) {
      for (std::int64_t k = first; k < end; ++k) {
        const float magnitude = std::abs(*At(quarter, channel, k));
        most = std::max(most, magnitude);
        sum += magnitude;
      }
    }
    return std::max({kInt16LeastScale, most / static_cast<float>(kStrassenMaxWeight), sum / max_sum});
  }

  const Gemm half_;
  std::vector<float> numbers_;
};

void PackColumn(const Gemm& half, const EqualizedWeights& weights, std::int64_t column, char* packed) {
  WeightColumn numbers(half, weights, column);
  const std::int64_t bytes = GemmColumnBytes(half), scales = half.in_channels * kGemmColumns * 2;
  if (half.multiplies_int16()) numbers.Round(reinterpret_cast<float*>(packed + scales));
  for (int product = 0; product < kStrassenProducts; ++product, packed += bytes) {
    if (half.multiplies_int16()) {
      numbers.Pack(product, reinterpret_cast<std::int16_t*>(packed));
    } else {
      numbers.Pack(product, reinterpret_cast<float*>(packed));
    }
  }
}

// ---- parts ----

// A part's memory stays in a core's cache, beside columns of weights.
std::int64_t MaxPairs(const Gemm& half) {
  constexpr std::int64_t kMax = 56;
  const std::int64_t together = GemmRowsTogether();
  const bool has_stretches = half.in_channels > StrassenDepth(half);
  const std::int64_t sums = 4 * (kGemmColumns + (has_stretches ? half.out_channels : 0));
  const std::int64_t bytes = kStrassenProducts * StrassenDepth(half) * GemmElementBytes(half) +
                             sums * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t pairs = SecondLevelCacheBytes() / 16 * 6 / bytes;
  return std::clamp(pairs / together * together, together, kMax / together * together);
}

Partition Split(const Gemm& half) { return SplitGemm(half, MaxPairs(half)); }

std::int64_t BytesOfPart(const Gemm& half, const Partition& split) {
  const StrassenScratch bytes = StrassenScratchOf(half, split.rows, split.channels);
  return bytes.rows + kStrassenProducts * bytes.tile + bytes.quarters + bytes.sums;
}

}  // namespace

Gemm StrassenHalf(const Gemm& job) {
  const std::int64_t channels = job.multiplies_int16() ? kGemmColumns : kGemmBlock;
  Gemm half = job;
  half.batch = half.height = 1;
  half.width = (job.rows() + 1) / 2;
  half.in_channels = RoundUp((job.in_channels + 1) / 2, channels);
  half.out_channels = RoundUp((job.out_channels + 1) / 2, kGemmColumns);
  return half;
}

float StrassenFactor(std::uint32_t bits) {
  constexpr std::uint32_t kInfinity = 0x7F800000, kMaxExponent = 253;
  if (bits >= kInfinity) return 0;
  const std::uint32_t exponent = std::clamp<std::uint32_t>(bits >> 23, 1, kMaxExponent);
  return std::ldexp(1.0f, 127 - static_cast<int>(exponent));
}

float StrassenInverse(float factor) { return factor == 0 ? std::nanf("") : 1 / factor; }

StrassenWeights StrassenWeightsAt(const Gemm& half, const void* packed) {
  const auto* factors = static_cast<const float*>(packed);
  const float* inverses = factors + StrassenFactors(half);
  return {factors, inverses, inverses + StrassenInverses(half)};
}

StrassenScratch StrassenScratchOf(const Gemm& half, std::int64_t pairs, std::int64_t channels) {
  constexpr std::int64_t kLine = 64, kFloat = sizeof(float);
  const bool has_stretches = half.in_channels > StrassenDepth(half);
  StrassenScratch bytes;
  bytes.rows = RoundUp(4 * pairs * kFloat, kLine);
  bytes.tile = RoundUp(GemmTileBytes(half, pairs, StrassenDepth(half)), kLine);
  bytes.quarters = 4 * pairs * kFloat * kGemmColumns;
  if (has_stretches) bytes.sums = 4 * pairs * kFloat * RoundUp(channels, kGemmColumns);
  return bytes;
}

std::size_t PackedStrassenBytes(const Gemm& job) {
  const Gemm half = StrassenHalf(job);
  const std::int64_t floats = StrassenFactors(half) + StrassenInverses(half);
  return static_cast<std::size_t>(floats) * sizeof(float) +
         static_cast<std::size_t>(GemmColumns(half) * kStrassenProducts * GemmColumnBytes(half));
}

void PackStrassenWeights(const Gemm& job, const float* weights, void* packed) {
  const Gemm half = StrassenHalf(job);
  const EqualizedWeights even(job, weights);
  auto* factors = static_cast<float*>(packed);
  float* inverses = factors + StrassenFactors(half);
  even.StoreFactors(factors);
  even.StoreInverses(inverses);
  char* columns = reinterpret_cast<char*>(inverses + StrassenInverses(half));
  ParallelFor(GemmColumns(half), 1, [&](std::int64_t column) {
    PackColumn(half, even, column, columns + column * kStrassenProducts * GemmColumnBytes(half));
  });
}

std::size_t StrassenScratchBytes(const Gemm& job) {
  const Gemm half = StrassenHalf(job);
  return static_cast<std::size_t>(BytesOfPart(half, Split(half)) * job.num_threads);
}

void RunStrassen(GemmTable::RunStrassen run, const Gemm& job, const GemmData& data, void* scratch) {
  const Gemm half = StrassenHalf(job);
  const Partition split = Split(half);
  split.ForEach(scratch, BytesOfPart(half, split), [&](const PartOfWork& place, char* memory) {
    run(job, data, {place.first_row, place.num_rows, place.first_channel, place.num_channels}, memory);
  });
}

}  // namespace amp::kernels
