// Arrays of float32: random ones, what they are in bfloat16, and whether two are the same.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/base/float_bits.h"

namespace amp::kernels::testing {

// Numbers of a normal distribution around 0.
inline std::vector<float> NormalFloats(std::mt19937& random, std::int64_t count, float width = 1) {
  std::normal_distribution<float> normal(0, width);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

// In [-scale, scale), the same for the same seed.
inline std::vector<float> FloatsOfSeed(std::int64_t count, std::uint32_t seed, float scale = 1) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values.push_back(scale * (static_cast<float>(seed >> 8) * 0x1p-23f - 1));
  }
  return values;
}

inline std::vector<std::uint16_t> HalvesOf(const std::vector<float>& values) {
  std::vector<std::uint16_t> halves;
  for (const float value : values) halves.push_back(FloatToBF16(value));
  return halves;
}

inline bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace amp::kernels::testing
