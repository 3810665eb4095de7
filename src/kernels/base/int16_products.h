// Sums of products of fixed-point numbers of 16 bits, which CPUs with AVX512_VNNI multiply twice as
// fast as float32, and some with AVX2 nearly so.
// Numbers of about the same size are multiplied: each sum has a scale for its numbers, and one for its weights. Its
// products are added up in int32, whose range they cannot leave, and sums are added in float32.
#pragma once

#include <cstdint>

namespace amp::kernels {

// The largest magnitude of numbers, where they and their weights lose about the same. Magnitudes of the weights of a
// sum add up to at most kInt16MaxWeights.
inline constexpr std::int64_t kInt16MaxNumber = 10240;
constexpr std::int64_t Int16MaxWeights(std::int64_t max_number) { return ((std::int64_t{1} << 31) - 1) / max_number; }
inline constexpr std::int64_t kInt16MaxWeights = Int16MaxWeights(kInt16MaxNumber);

// The scale of what is zero, and of anything smaller: its inverse is a float.
inline constexpr float kInt16LeastScale = 1e-34F;

// The factors of input channels whose weights have these sums of squares: powers of two, each channel's root mean
// square over that of the channel with the largest. Numbers are multiplied by them, and weights divided. Then all
// channels have weights of about one size, and a number's part in a sum says how much of its accuracy matters. Where
// weights are zero, or no numbers, the factor is one.
void FindInt16Factors(const double* squares, std::int64_t count, float* factors);

// ---- weights ----

inline constexpr float kInt16MaxWeight = 32766;

namespace {  // of internal linkage, on purpose: see cast_table.h

// The scale of numbers up to the magnitude of these bits. Where it is none, or infinite, the scale is a NaN.
inline float Int16ScaleOf(std::uint32_t bits) {
  if (bits >= 0x7F800000) return __builtin_nanf("");
  float most;
  __builtin_memcpy(&most, &bits, sizeof most);
  const float scale = most / static_cast<float>(kInt16MaxNumber);
  return scale < kInt16LeastScale ? kInt16LeastScale : scale;
}

// A NaN stays one.
inline void RaiseInt16Scale(float x, float* scale) {
  if (!(x <= *scale)) *scale = x;
}

// What is no number gets some: its scale is none.
inline std::int16_t RoundToInt16(float x) {
  return x >= -32767 && x <= 32767 ? static_cast<std::int16_t>(__builtin_lrintf(x)) : std::int16_t{0};
}

}  // namespace

}  // namespace amp::kernels
