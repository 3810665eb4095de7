// Functions of vectors of kLanes numbers. One source for all instruction sets: the compiler's vector types become what
// the translation unit is compiled for. Every name depends on the instruction set, on purpose: the linker keeps one
// copy of an inline function, and that copy must run on every CPU.
#pragma once

#if defined(__FMA__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>

#include "kernels/base/cpu.h"

namespace amp::kernels {

template <int kLanes>
struct VectorTypes;
template <>
struct VectorTypes<4> {
  using Floats [[gnu::vector_size(16)]] = float;
  using Ints [[gnu::vector_size(16)]] = std::int32_t;
  using Unsigned [[gnu::vector_size(16)]] = std::uint32_t;
  using Halves [[gnu::vector_size(8)]] = std::uint16_t;
};
template <>
struct VectorTypes<8> {
  using Floats [[gnu::vector_size(32)]] = float;
  using Ints [[gnu::vector_size(32)]] = std::int32_t;
  using Unsigned [[gnu::vector_size(32)]] = std::uint32_t;
  using Halves [[gnu::vector_size(16)]] = std::uint16_t;
};
template <>
struct VectorTypes<16> {
  using Floats [[gnu::vector_size(64)]] = float;
  using Ints [[gnu::vector_size(64)]] = std::int32_t;
  using Unsigned [[gnu::vector_size(64)]] = std::uint32_t;
  using Halves [[gnu::vector_size(32)]] = std::uint16_t;
};

template <Isa kIsa, int kLanes>
struct VectorCode {
  using Floats = typename VectorTypes<kLanes>::Floats;
  using Ints = typename VectorTypes<kLanes>::Ints;
  using Unsigned = typename VectorTypes<kLanes>::Unsigned;
  using Halves = typename VectorTypes<kLanes>::Halves;

  static Floats Load(const float* x) {
    Floats v;
    std::memcpy(&v, x, sizeof v);
    return v;
  }
  static Floats LoadBF16(const std::uint16_t* x) {
    Halves halves;
    std::memcpy(&halves, x, sizeof halves);
    return Widened(halves);
  }
  static void Store(float* to, Floats x) { std::memcpy(to, &x, sizeof x); }
  static Floats Widened(Halves x) {
    Ints bits;
#if defined(__AVX512F__)
    if constexpr (kLanes == 16) {
      bits = reinterpret_cast<Ints>(_mm512_maskz_cvtepu16_epi32(0xFFFF, reinterpret_cast<__m256i>(x)));
    } else
#endif
#if defined(__FMA__)
        if constexpr (kLanes == 8) {  // gcc 12 converts halves of it
      bits = reinterpret_cast<Ints>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(x)));
    } else
#endif
    {
      bits = __builtin_convertvector(x, Ints);
    }
    return AsFloats(bits << 16);
  }
  static float Number(const float* x) { return *x; }
  static float Number(const std::uint16_t* x) {  // bfloat16
    const std::uint32_t bits = static_cast<std::uint32_t>(*x) << 16;
    float number;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  }
  template <class T>
  static float Number(const T* x) {
    return static_cast<float>(*x);
  }
  static Ints Bits(Floats x) { return reinterpret_cast<Ints>(x); }
  static Floats AsFloats(Ints x) { return reinterpret_cast<Floats>(x); }
  static Floats All(float x) { return x - Floats{}; }
  // a * b + c, rounded once where the instruction set has an instruction for it.
  static Floats MultiplyAdd(Floats a, Floats b, Floats c) {
#if defined(__AVX512F__)
    if constexpr (kLanes == 16) return _mm512_fmadd_ps(a, b, c);
#endif
#if defined(__FMA__)
    if constexpr (kLanes == 8) return _mm256_fmadd_ps(a, b, c);
#endif
    return a * b + c;
  }
  // (... (first * x + second) * x + ...) * x + last. It is no loop, because gcc does not unroll loops over constants.
  template <class... Numbers>
  static Floats Polynomial(Floats x, float first, Numbers... others) {
    Floats sum = All(first);
    ((sum = MultiplyAdd(sum, x, All(others))), ...);
    return sum;
  }
  // b where one of them is a NaN.
  static Floats Max(Floats a, Floats b) { return a > b ? a : b; }
  static Floats Min(Floats a, Floats b) { return a < b ? a : b; }
  static Floats OneOrZero(Ints mask) { return AsFloats(mask & Bits(All(1))); }
  static Floats Convert(Ints x) { return __builtin_convertvector(x, Floats); }

  // To the nearest whole number, even in the middle; for |x| < 2^22.
  static Floats Nearest(Floats x) {
    const Floats magic = All(12582912.0f);  // 1.5 * 2^23
    return (x + magic) - magic;
  }
  static Floats Trunc(Floats x) {
    const Floats magnitude = AsFloats(Bits(x) & 0x7FFFFFFF);
    const Floats whole = Convert(__builtin_convertvector(magnitude < 8388608.0f ? magnitude : All(0), Ints));
    const Floats result = magnitude < 8388608.0f ? whole : magnitude;  // a NaN, or whole anyway
    return AsFloats(Bits(result) | (Bits(x) & static_cast<std::int32_t>(0x80000000u)));
  }
  static Floats Floor(Floats x) {
    const Floats t = Trunc(x);
    return t > x ? t - 1.0f : t;
  }
  static Floats Ceil(Floats x) {
    const Floats t = Trunc(x), up = t < x ? t + 1.0f : t;
    return AsFloats(Bits(up) | (Bits(x) & static_cast<std::int32_t>(0x80000000u)));  // -0.5 gives -0
  }

  // 2^n for whole n in [-126, 127].
  static Floats PowerOfTwo(Ints n) { return AsFloats((n + 127) << 23); }

  // To about one unit in the last place, denormal results included. A NaN stays one.
  static Floats Exp(Floats x) {
    // Arguments that give 0 are not computed: CPUs are slow at results that are too small.
    const Floats safe = x > 89.0f ? All(89.0f) : x >= -104.0f ? x : All(0);
    const Floats n = Nearest(safe * 1.44269504088896341f);
    // ln 2 in two parts, the first with zeros at its end.
    const Floats r = (safe - n * 0.693145751953125f) - n * 1.42860682030941723e-6f;
    // Taylor's series: on |r| <= ln(2) / 2 its next term is 5e-9.
    const Floats p = Polynomial(r, 1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f);
    const Ints exponent = __builtin_convertvector(n, Ints), half = exponent >> 1;
    const Floats result = p * PowerOfTwo(half) * PowerOfTwo(exponent - half);
    return x == x ? (x < -104.0f ? All(0) : result) : x;
  }

  // 2^x to 8e-8 of it, for x up to 127; 0 below -126, so that no result is denormal. A NaN stays one. It takes half the
  // time of Exp.
  static Floats Exp2(Floats x) {
    const Floats shifted = x + 12582912.0f, n = shifted - 12582912.0f;  // as in Nearest
    // The polynomial with p(0) = 1 of the least relative error on |r| <= 1/2: 2e-9.
    const Floats p = Polynomial(x - n, 1.5353362e-4f, 1.3398875e-3f, 9.6184369e-3f, 5.5503324e-2f, 2.4022648e-1f,
                                6.9314718e-1f, 1.0f);
#if defined(__AVX512F__)
    if constexpr (kLanes == 16) {
      return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, All(-126.0f), _CMP_NLT_UQ), p, n);
    }
#endif
    // The lowest bits of the shifted number are the whole number: as an exponent they make its power.
    return x < -126.0f ? All(0) : p * AsFloats((Bits(shifted) + 127) << 23);
  }

  // To about one unit in the last place.
  static Floats Log(Floats x) {
    const Ints is_denormal = x < 1.17549435e-38f;
    const Floats normal = is_denormal ? x * 8388608.0f : x;
    // x = 2^n (1 + f), with 1 + f between sqrt(0.5) and sqrt(2).
    // (Of numbers below 0 the sign is dropped: the difference would overflow, and their result is NaN.)
    const Ints shifted = (Bits(normal) & 0x7FFFFFFF) - 0x3F3504F3;
    const Ints n = (shifted >> 23) - (is_denormal & 23);
    const Floats f = AsFloats((shifted & 0x007FFFFF) + 0x3F3504F3) - 1.0f;
    // log(1 + f) = 2 atanh(s) with s = f / (2 + f), |s| < 0.172: the next term of the series is 5e-10.
    const Floats s = f / (f + 2.0f), z = s * s;
    const Floats p = Polynomial(z, 2.0f / 11, 2.0f / 9, 2.0f / 7, 2.0f / 5, 2.0f / 3);
    // f - s f is 2 s, without the rounding of s.
    const Floats log1p = f - s * (f - z * p), whole = Convert(n);
    Floats result = whole * 0.693145751953125f + (log1p + whole * 1.42860682030941723e-6f);
    result = x == 0.0f ? All(-__builtin_inff()) : x < 0.0f ? All(__builtin_nanf("")) : result;
    return (x == x) & (x != __builtin_inff()) ? result : x;
  }

  static Floats Sigmoid(Floats x) { return 1.0f / (1.0f + Exp(-x)); }

  static Floats Tanh(Floats x) {
    const Floats magnitude = AsFloats(Bits(x) & 0x7FFFFFFF);
    // Near 0 the quotient below would cancel: tanh(x) = x + x^3 p(x^2), fitted on [0, 0.625] to 4e-9.
    const Floats z = x * x;
    const Floats p =
        Polynomial(z, -5.7170365610e-3f, 2.0650579003e-2f, -5.3743495261e-2f, 1.3331491249e-1f, -3.3333283924e-1f);
    const Floats small = x + x * z * p;
    const Floats large = 1.0f - 2.0f / (Exp(magnitude + magnitude) + 1.0f);
    const Floats with_sign = AsFloats(Bits(large) | (Bits(x) & static_cast<std::int32_t>(0x80000000u)));
    return magnitude < 0.625f ? small : with_sign;
  }

  // To about two units in the last place.
  static Floats Erf(Floats x) {
    constexpr float kBound = 3.925f;  // from here on it is 1
    const Floats magnitude = AsFloats(Bits(x) & 0x7FFFFFFF);
    // Up to 1, x p(x^2), fitted to 1e-8.
    const Floats z = x * x;
    const Floats p = Polynomial(z, 7.87587508e-05f, -8.01686429e-04f, 5.18908742e-03f, -2.68542120e-02f,
                                1.12835947e-01f, -3.76126267e-01f, 1.12837917e+00f);
    // Above, 1 - q(|x| - 2.4625), fitted to 6e-8.
    const Floats u = magnitude - 2.4625f;
    const Floats q = Polynomial(u, 9.72077132e-06f, -2.52109866e-05f, -5.61585943e-05f, 3.00776799e-04f,
                                -3.75290770e-04f, -4.70834851e-04f, 2.94537382e-03f, -6.75235391e-03f, 9.82509416e-03f,
                                -9.73473587e-03f, 6.46148101e-03f, -2.62365511e-03f, 4.96753306e-04f);
    const Floats large = magnitude > kBound ? All(1) : 1.0f - q;
    const Floats with_sign = AsFloats(Bits(large) | (Bits(x) & static_cast<std::int32_t>(0x80000000u)));
    return magnitude > 1.0f ? with_sign : x * p;
  }

  static Ints RoundedBits(Floats x) {  // bfloat16 in the lower halves
    const auto bits = reinterpret_cast<Unsigned>(x), upper = bits >> 16;
    const Ints is_nan = reinterpret_cast<Ints>(bits & 0x7FFFFFFF) > 0x7F800000;
    return reinterpret_cast<Ints>(is_nan ? upper | 0x40 : (bits + ((upper & 1) + 0x7FFF)) >> 16);
  }
  static Halves Rounded(Floats x) {  // to bfloat16
#if defined(__AVX512VL__)
    if constexpr (kLanes == 16) {
      return reinterpret_cast<Halves>(_mm512_maskz_cvtepi32_epi16(0xFFFF, reinterpret_cast<__m512i>(RoundedBits(x))));
    }
#endif
#if defined(__FMA__)
    if constexpr (kLanes == 8) {
      const auto bits = reinterpret_cast<__m256i>(RoundedBits(x));
      return reinterpret_cast<Halves>(
          _mm_packus_epi32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1)));
    }
#endif
    return __builtin_convertvector(RoundedBits(x), Halves);
  }
};

}  // namespace amp::kernels
