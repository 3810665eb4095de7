// Scalar conversions between float32/float64/integers and the two 16-bit floating-point formats. These functions
// *define* what a cast does; every vector kernel of this folder is bit-equal to them for all inputs.
//
//  bfloat16: 1 sign, 8 exponent, 7 mantissa bits (the upper half of a float32)
//  float16:  1 sign, 5 exponent, 10 mantissa bits (IEEE 754 binary16)
//
// Narrowing rounds once, to nearest with ties to even. Denormals are kept, values beyond the largest finite number
// become infinite exactly where rounding says so, and a NaN becomes a quiet NaN with the same sign and the top bits of
// its payload. None of this depends on MXCSR's flush-to-zero and denormals-are-zero bits; FloatToHalf alone relies on
// the default rounding mode (to nearest).
//
// Do not include this header in a translation unit built for a special instruction set: the linker
// keeps one copy of an inline function, and that copy must run on every CPU.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace amp::kernels {

static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

namespace internal {

template <int kExponentWidth, int kMantissaWidth>
struct NarrowFormat {
  static constexpr int kMantissaBits = kMantissaWidth;
  static constexpr int kMaxExponent = (1 << (kExponentWidth - 1)) - 1;
  static constexpr int kMinExponent = 1 - kMaxExponent;
  static constexpr int kSignShift = kExponentWidth + kMantissaWidth;
  static constexpr std::uint32_t kInfinity = ((1u << kExponentWidth) - 1) << kMantissaWidth;
  static constexpr std::uint32_t kQuietBit = 1u << (kMantissaWidth - 1);
};

// A conditional expression by masks. Where one side comes from floating-point arithmetic, GCC turns
// `?:` into a jump (it must not raise exception flags needlessly) and then does not vectorise.
constexpr std::uint32_t Select(bool condition, std::uint32_t yes, std::uint32_t no) {
  const std::uint32_t mask = 0u - static_cast<std::uint32_t>(condition);
  return (yes & mask) | (no & ~mask);
}

using BF16Format = NarrowFormat<8, 7>;
using HalfFormat = NarrowFormat<5, 10>;

// Rounds the exact value (-1)^negative * significand * 2^(exponent - 63). The top bit of
// `significand` is set, or else the value is known to round to zero.
template <typename Format>
constexpr std::uint16_t RoundOnce(bool negative, std::uint64_t significand, int exponent) {
  const std::uint32_t sign = static_cast<std::uint32_t>(negative) << Format::kSignShift;
  if (exponent > Format::kMaxExponent) return static_cast<std::uint16_t>(sign | Format::kInfinity);
  const int denormal_shift = exponent < Format::kMinExponent ? Format::kMinExponent - exponent : 0;
  const int dropped_bits = 63 - Format::kMantissaBits + denormal_shift;
  // Less than half of the smallest denormal.
  if (dropped_bits > 64) return static_cast<std::uint16_t>(sign);

  const std::uint64_t half_ulp = std::uint64_t{1} << (dropped_bits - 1);
  const std::uint64_t kept = significand >> (dropped_bits - 1) >> 1;  // in two steps: a shift by 64 is undefined
  const std::uint64_t remainder = significand & ((half_ulp << 1) - 1);
  const bool up = remainder > half_ulp || (remainder == half_ulp && (kept & 1) != 0);

  // A normal number's leading bit is still in `kept` and adds the one that its exponent field lacks here. A carry out
  // of the mantissa moves into the exponent and, at the very top, yields infinity: both are what rounding asks for.
  const int exponent_field = denormal_shift > 0 ? 0 : exponent - Format::kMinExponent;
  const std::uint32_t magnitude = (static_cast<std::uint32_t>(exponent_field) << Format::kMantissaBits) +
                                  static_cast<std::uint32_t>(kept) + static_cast<std::uint32_t>(up);
  return static_cast<std::uint16_t>(sign | magnitude);
}

template <typename Format>
constexpr std::uint16_t NarrowDouble(double value) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const bool negative = (bits >> 63) != 0;
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1);
  const int biased_exponent = static_cast<int>((bits >> 52) & 0x7FF);
  if (biased_exponent == 0x7FF && mantissa != 0) {
    const auto payload = static_cast<std::uint32_t>(mantissa >> (52 - Format::kMantissaBits));
    const std::uint32_t sign = static_cast<std::uint32_t>(negative) << Format::kSignShift;
    return static_cast<std::uint16_t>(sign | Format::kInfinity | Format::kQuietBit | payload);
  }
  // Zeros and float64 denormals get a leading bit too many here; they are far below either format's smallest denormal.
  return RoundOnce<Format>(negative, (std::uint64_t{1} << 63) | (mantissa << 11), biased_exponent - 1023);
}

}  // namespace internal

// Exact. The bits move unchanged: a signalling NaN stays signalling.
constexpr float BF16ToFloat(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

constexpr std::uint16_t FloatToBF16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet_nan = (bits >> 16) | internal::BF16Format::kQuietBit;
  const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  return static_cast<std::uint16_t>(is_nan ? quiet_nan : rounded);
}

// Exact, except that a signalling NaN becomes quiet (as F16C does). Free of branches, so that loops vectorise.
constexpr float HalfToFloat(std::uint16_t value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value & 0x8000u) << 16;
  const std::uint32_t magnitude = value & 0x7FFFu;
  const std::uint32_t normal = (magnitude << 13) + ((127u - 15u) << 23);
  const std::uint32_t denormal =
      std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f);
  const std::uint32_t quiet = magnitude > 0x7C00u ? 0x00400000u : 0u;
  const std::uint32_t special = (magnitude << 13) | 0x7F800000u | quiet;
  const std::uint32_t finite = internal::Select(magnitude < 0x0400u, denormal, normal);
  return std::bit_cast<float>(sign | internal::Select(magnitude >= 0x7C00u, special, finite));
}

// Rounds in the same way as F16C's vcvtps2ph. Free of branches, so that loops vectorise.
constexpr std::uint16_t FloatToHalf(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  constexpr std::uint32_t kSmallestNormal = 0x38800000u;  // 2^-14
  constexpr std::uint32_t kFirstInfinite = 0x47800000u;   // 2^16; [65520, 65536) reaches infinity by rounding
  const std::uint32_t rebiased = magnitude - ((127u - 15u) << 23);
  const std::uint32_t normal = (rebiased + 0x0FFFu + ((rebiased >> 13) & 1u)) >> 13;
  // Just above 0.5 a float32's last bit is worth 2^-24, float16's smallest denormal: the addition itself rounds.
  const std::uint32_t small = magnitude < kSmallestNormal ? magnitude : kSmallestNormal;
  const std::uint32_t denormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(small) + 0.5f) - 0x3F000000u;
  const std::uint32_t quiet_nan = internal::HalfFormat::kQuietBit | ((magnitude >> 13) & 0x03FFu);
  const std::uint32_t special = internal::HalfFormat::kInfinity | (magnitude > 0x7F800000u ? quiet_nan : 0u);
  const std::uint32_t finite = internal::Select(magnitude < kSmallestNormal, denormal, normal);
  return static_cast<std::uint16_t>(((bits >> 16) & 0x8000u) |
                                    internal::Select(magnitude >= kFirstInfinite, special, finite));
}

// One rounding from the exact value; going through float32 would round twice.
constexpr std::uint16_t DoubleToBF16(double value) { return internal::NarrowDouble<internal::BF16Format>(value); }
constexpr std::uint16_t DoubleToHalf(double value) { return internal::NarrowDouble<internal::HalfFormat>(value); }

// There is no such function for float16: whatever float32 cannot hold exactly is infinite there, so
// that FloatToHalf(static_cast<float>(value)) rounds once.
template <std::integral Integer>
constexpr std::uint16_t IntegerToBF16(Integer value) {
  if (value == 0) return 0;
  const bool negative = std::is_signed_v<Integer> && value < 0;
  const auto wide = static_cast<std::uint64_t>(value);  // sign-extends
  const std::uint64_t magnitude = negative ? std::uint64_t{0} - wide : wide;
  const int leading_zeros = std::countl_zero(magnitude);
  return internal::RoundOnce<internal::BF16Format>(negative, magnitude << leading_zeros, 63 - leading_zeros);
}

}  // namespace amp::kernels
