#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

// An independent definition of the 16-bit formats: the finite values are listed by arithmetic, and
// rounding means to pick the nearer of two neighbours in that list.
namespace amp::kernels::testing {

// Holds every float64, int64 and uint64 exactly, which the oracle relies on.
using Exact = long double;
static_assert(std::numeric_limits<Exact>::digits >= 64);

class NarrowOracle {
 public:
  NarrowOracle(int exponent_bits, int mantissa_bits) : exponent_bits_(exponent_bits), mantissa_bits_(mantissa_bits) {
    const int codes = ((1 << exponent_bits) - 1) << mantissa_bits;
    // One more than the finite values: what infinity's code would mean if the exponent range went
    // on. Rounding is defined as if it did.
    for (int code = 0; code <= codes; ++code) magnitudes_.push_back(Magnitude(code));
  }

  uint16_t Infinity() const { return static_cast<uint16_t>(magnitudes_.size() - 1); }
  uint16_t SignBit() const { return static_cast<uint16_t>(1u << (exponent_bits_ + mantissa_bits_)); }
  bool IsNaN(uint16_t code) const { return (code & (SignBit() - 1)) > Infinity(); }

  Exact Decode(uint16_t code) const {
    const uint16_t magnitude = code & static_cast<uint16_t>(SignBit() - 1);
    const Exact value = magnitude == Infinity() ? std::numeric_limits<Exact>::infinity() : magnitudes_.at(magnitude);
    return (code & SignBit()) != 0 ? -value : value;
  }

  // Not for NaN.
  uint16_t Encode(Exact value) const {
    const uint16_t sign = std::signbit(value) ? SignBit() : uint16_t{0};
    return sign | EncodeMagnitude(std::fabs(value));
  }

  // `payload` holds the mantissa of the source, left-aligned in 64 bits.
  uint16_t EncodeNaN(bool negative, uint64_t payload) const {
    const uint64_t kept = (payload | (uint64_t{1} << 63)) >> (64 - mantissa_bits_);
    return static_cast<uint16_t>((negative ? SignBit() : 0u) | Infinity() | kept);
  }

 private:
  Exact Magnitude(int code) const {
    const int bias = (1 << (exponent_bits_ - 1)) - 1;
    const int field = code >> mantissa_bits_;
    const Exact fraction = std::ldexp(static_cast<Exact>(code & ((1 << mantissa_bits_) - 1)), -mantissa_bits_);
    return field == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, field - bias);
  }

  uint16_t EncodeMagnitude(Exact value) const {
    if (value >= magnitudes_.back()) return Infinity();
    const auto above = std::upper_bound(magnitudes_.begin(), magnitudes_.end(), value);
    const auto below = static_cast<uint16_t>(above - magnitudes_.begin() - 1);
    const Exact middle = (magnitudes_[below] + *above) / 2;  // exact: one bit more than the format has
    const bool up = value > middle || (value == middle && below % 2 == 1);
    return below + static_cast<uint16_t>(up);
  }

  int exponent_bits_;
  int mantissa_bits_;
  std::vector<Exact> magnitudes_;
};

inline const NarrowOracle& BF16Oracle() {
  static const NarrowOracle oracle(8, 7);
  return oracle;
}

inline const NarrowOracle& HalfOracle() {
  static const NarrowOracle oracle(5, 10);
  return oracle;
}

}  // namespace amp::kernels::testing
