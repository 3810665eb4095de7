#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

// Inputs that reach the corners of the formats.
namespace amp::kernels::testing {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Every sign and exponent of float32 with the mantissas around the rounding boundaries of float16
// and bfloat16: exact, just off, halfway with even and odd neighbours, all ones. Exponent 255 gives
// infinities and NaNs, exponent 0 zeros and denormals.
inline std::vector<uint32_t> CornerFloatBits() {
  std::vector<uint32_t> mantissas;
  for (uint32_t step : {0x2000u, 0x10000u}) {  // one ulp of float16, of bfloat16
    for (uint32_t multiple : {0u, 1u, 2u, 3u, 0x3Fu, 0x40u, 0x7Fu, 0x3FFu}) {
      for (uint32_t offset : {0u, 1u, step / 2 - 1, step / 2, step / 2 + 1, step - 1}) {
        mantissas.push_back((multiple * step + offset) & 0x7FFFFFu);
      }
    }
  }
  std::vector<uint32_t> bits;
  for (uint32_t upper = 0; upper < 512; ++upper) {
    for (uint32_t mantissa : mantissas) bits.push_back(upper << 23 | mantissa);
  }
  return bits;
}

// The corner floats widened, each with its neighbours in float64 (where rounding twice goes wrong),
// and float64's own special values.
inline std::vector<uint64_t> CornerDoubleBits() {
  std::vector<uint64_t> bits;
  for (uint32_t narrow : CornerFloatBits()) {
    const double value = std::bit_cast<float>(narrow);
    const auto wide = std::bit_cast<uint64_t>(value);
    bits.insert(bits.end(), {wide - 1, wide, wide + 1});
  }
  for (uint64_t sign : {uint64_t{0}, uint64_t{1} << 63}) {
    for (uint64_t magnitude :
         {0x0ull, 0x1ull, 0xFFFFFFFFFFFFFull, 0x10000000000000ull, 0x7FEFFFFFFFFFFFFFull, 0x7FF0000000000000ull,
          0x7FF0000000000001ull, 0x7FF4000000000123ull, 0x7FF8000000000000ull, 0x7FFFFFFFFFFFFFFFull}) {
      bits.push_back(sign | magnitude);
    }
  }
  return bits;
}

// Powers of two, integers near the rounding boundaries below them, and the limits; as bit patterns.
inline std::vector<uint64_t> CornerIntegerBits() {
  std::vector<uint64_t> bits;
  for (int exponent = 0; exponent < 64; ++exponent) {
    const uint64_t power = uint64_t{1} << exponent;
    for (int kept : {7, 8, 9, 10, 11, 12, 23, 24, 52, 53}) {
      const uint64_t step = exponent >= kept ? uint64_t{1} << (exponent - kept) : 0;
      for (uint64_t value : {power, power + step, power + 2 * step, power + 3 * step}) {
        for (uint64_t near : {value - 1, value, value + 1}) bits.insert(bits.end(), {near, uint64_t{0} - near});
      }
    }
  }
  return bits;
}

// Random bit patterns.
inline std::vector<uint64_t> RandomBits(std::size_t count, uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<uint64_t> bits(count);
  for (uint64_t& value : bits) value = generator();
  return bits;
}

}  // namespace amp::kernels::testing
