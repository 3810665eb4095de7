// Vectors of elements, float32 or bfloat16, of which those behind an end are not touched. Of internal linkage, on
// purpose: see cast_table.h.
#pragma once

#include <utility>

#include "kernels/base/vector_code.h"

namespace amp::kernels {
namespace {

// What instruction sets with masks do otherwise.
template <Isa kIsa, int kLanes>
struct SomeLanes : VectorCode<kIsa, kLanes> {
  using Code = VectorCode<kIsa, kLanes>;
  using typename Code::Floats, typename Code::Halves, typename Code::Ints;
  using Mask = Ints;

  template <int... i>
  static Mask FirstLanes(std::int64_t count, std::integer_sequence<int, i...>) {
    return Ints{i...} < static_cast<std::int32_t>(count > kLanes ? kLanes : count < 0 ? 0 : count);
  }
  static Mask FirstLanes(std::int64_t count) { return FirstLanes(count, std::make_integer_sequence<int, kLanes>{}); }
  // The lanes among the first `count` whose byte is not 0.
  static Mask SeenLanes(const std::uint8_t* seen, std::int64_t count) {
#if defined(__AVX2__)
    if (kLanes == 8 && count >= kLanes) {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(seen));
      return reinterpret_cast<Ints>(_mm256_cvtepu8_epi32(bytes)) != 0;
    }
#endif
    Ints lanes{};
    for (std::int64_t i = 0; i < count && i < kLanes; ++i) lanes[i] = seen[i] != 0 ? -1 : 0;
    return lanes;
  }
  static Floats Keep(Mask lanes, Floats x) { return Code::AsFloats(lanes & Code::Bits(x)); }
  static Floats Choose(Mask lanes, Floats x, Floats other) {
    return Code::AsFloats((lanes & Code::Bits(x)) | (~lanes & Code::Bits(other)));
  }

  static Floats LoadSome(const float* from, std::int64_t count) {
#if defined(__AVX2__)
    if constexpr (kLanes == 8) return _mm256_maskload_ps(from, reinterpret_cast<__m256i>(FirstLanes(count)));
#endif
    float padded[kLanes] = {};
    for (int i = 0; i < kLanes && i < count; ++i) padded[i] = from[i];
    return Code::Load(padded);
  }
  static Halves LoadSome(const std::uint16_t* from, std::int64_t count) {
    std::uint16_t padded[kLanes] = {};
    for (int i = 0; i < kLanes && i < count; ++i) std::memcpy(padded + i, from + i, sizeof *padded);
    Halves halves;
    std::memcpy(&halves, padded, sizeof halves);
    return halves;
  }
  static void StoreSome(float* to, std::int64_t count, Floats x) {
#if defined(__AVX2__)
    if constexpr (kLanes == 8) return _mm256_maskstore_ps(to, reinterpret_cast<__m256i>(FirstLanes(count)), x);
#endif
    for (int i = 0; i < kLanes && i < count; ++i) to[i] = x[i];
  }
  static void StoreSome(std::uint16_t* to, std::int64_t count, Halves x) {
    for (int i = 0; i < kLanes && i < count; ++i) {
      const std::uint16_t half = x[i];
      std::memcpy(to + i, &half, sizeof half);
    }
  }
};

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
template <Isa kIsa>
struct SomeLanes<kIsa, 16> : VectorCode<kIsa, 16> {
  using Code = VectorCode<kIsa, 16>;
  using typename Code::Floats, typename Code::Halves;
  using Mask = __mmask16;

  static Mask FirstLanes(std::int64_t count) {
    return static_cast<Mask>(count >= 16 ? 0xFFFF : count <= 0 ? 0 : (1u << count) - 1);
  }
  static Mask SeenLanes(const std::uint8_t* seen, std::int64_t count) {
    const __m128i bytes = _mm_maskz_loadu_epi8(FirstLanes(count), seen);
    return static_cast<Mask>(_mm_test_epi8_mask(bytes, bytes));
  }
  static Floats Keep(Mask lanes, Floats x) { return _mm512_maskz_mov_ps(lanes, x); }
  static Floats Choose(Mask lanes, Floats x, Floats other) { return _mm512_mask_mov_ps(other, lanes, x); }

  static Floats LoadSome(const float* from, std::int64_t count) {
    return _mm512_maskz_loadu_ps(FirstLanes(count), from);
  }
  static Halves LoadSome(const std::uint16_t* from, std::int64_t count) {
    return reinterpret_cast<Halves>(_mm256_maskz_loadu_epi16(FirstLanes(count), from));
  }
  static void StoreSome(float* to, std::int64_t count, Floats x) { _mm512_mask_storeu_ps(to, FirstLanes(count), x); }
  static void StoreSome(std::uint16_t* to, std::int64_t count, Halves x) {
    _mm256_mask_storeu_epi16(to, FirstLanes(count), reinterpret_cast<__m256i>(x));
  }
};
#endif

template <Isa kIsa, int kWidth>
struct ElementVectors : SomeLanes<kIsa, kWidth> {
  using Code = VectorCode<kIsa, kWidth>;
  using Some = SomeLanes<kIsa, kWidth>;
  using typename Code::Floats, typename Code::Halves, typename Code::Ints;
  static constexpr int kLanes = kWidth;

  // The first `count` elements, if there are less than kLanes; zeros behind them.
  static Halves LoadHalves(const void* from, std::int64_t count) {
    const auto* halves = static_cast<const std::uint16_t*>(from);
    if (!IsWhole(count)) return Some::LoadSome(halves, count);
    Halves x;
    std::memcpy(&x, halves, sizeof x);
    return x;
  }
  template <bool kIsBF16>
  static Floats Load(const void* from, std::int64_t count) {
    if constexpr (kIsBF16) return Code::Widened(LoadHalves(from, count));
    const auto* floats = static_cast<const float*>(from);
    return IsWhole(count) ? Code::Load(floats) : Some::LoadSome(floats, count);
  }
  using Code::Load;

  // The inverse; rounds once.
  static void StoreHalves(void* to, std::int64_t count, Halves x) {
    if (!IsWhole(count)) return Some::StoreSome(static_cast<std::uint16_t*>(to), count, x);
    std::memcpy(to, &x, sizeof x);
  }
  template <bool kIsBF16>
  static void Store(void* to, std::int64_t count, Floats x) {
    if constexpr (kIsBF16) return StoreHalves(to, count, Code::Rounded(x));
    auto* floats = static_cast<float*>(to);
    IsWhole(count) ? Code::Store(floats, x) : Some::StoreSome(floats, count, x);
  }
  using Code::Store;

  // Elements i to i + kLanes - 1 of `size`.
  static Floats LoadPart(const char* from, bool is_bf16, std::int64_t i, std::int64_t size) {
    return is_bf16 ? Load<true>(from + 2 * i, size - i) : Load<false>(from + 4 * i, size - i);
  }
  static void StorePart(char* to, bool is_bf16, std::int64_t i, std::int64_t size, Floats x) {
    is_bf16 ? Store<true>(to + 2 * i, size - i, x) : Store<false>(to + 4 * i, size - i, x);
  }

  // Elements of a, and of b behind them: of(i) is that of lane i.
  template <class V, class F, int... i>
  static V Shuffled(V a, V b, F of, std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(a, b, of(i)...);
  }
  template <class V, class F>
  static V Shuffled(V a, V b, F of) {
    return Shuffled(a, b, of, std::make_integer_sequence<int, kLanes>{});
  }

  // f of all lanes, in a fixed order.
  template <int kDistance = kLanes / 2, class F>
  static float Fold(Floats x, F f) {
    if constexpr (kDistance == 0) {
      return x[0];
    } else {
      return Fold<kDistance / 2>(f(x, Shuffled(x, x, [](int i) { return i ^ kDistance; })), f);
    }
  }

  // Element j of row i becomes element i of row j.
  template <class V>
  static void Transpose(V (&r)[kLanes]) {
    // Takes the first or last two elements of each quarter (four elements) of a and b, in turns or in pairs.
    const auto low = [](V a, V b) {
      return Shuffled(a, b, [](int i) { return i / 4 * 4 + i % 4 / 2 + i % 2 * kLanes; });
    };
    const auto high = [](V a, V b) {
      return Shuffled(a, b, [](int i) { return i / 4 * 4 + i % 4 / 2 + i % 2 * kLanes + 2; });
    };
    const auto low_pairs = [](V a, V b) {
      return Shuffled(a, b, [](int i) { return i / 4 * 4 + i % 2 + i % 4 / 2 * kLanes; });
    };
    const auto high_pairs = [](V a, V b) {
      return Shuffled(a, b, [](int i) { return i / 4 * 4 + i % 2 + i % 4 / 2 * kLanes + 2; });
    };
    V t[kLanes];
#pragma GCC unroll 8
    for (int i = 0; i < kLanes; i += 2) {
      t[i] = low(r[i], r[i + 1]);
      t[i + 1] = high(r[i], r[i + 1]);
    }
    // Then r[4 i + j] holds elements 4 l + j of rows 4 i to 4 i + 3, in its quarters l.
#pragma GCC unroll 4
    for (int i = 0; i < kLanes; i += 4) {
      r[i] = low_pairs(t[i], t[i + 2]);
      r[i + 1] = high_pairs(t[i], t[i + 2]);
      r[i + 2] = low_pairs(t[i + 1], t[i + 3]);
      r[i + 3] = high_pairs(t[i + 1], t[i + 3]);
    }
    SortQuarters(r, t);
  }

 private:
  static bool IsWhole(std::int64_t count) { return __builtin_expect(count >= kLanes, true); }

  template <class V>
  static void SortQuarters(V (&r)[kLanes], V (&t)[kLanes]) {
    const auto even = [](V a, V b) { return Shuffled(a, b, [](int i) { return i / 4 * 8 + i % 4; }); };
    const auto odd = [](V a, V b) { return Shuffled(a, b, [](int i) { return i / 4 * 8 + i % 4 + 4; }); };
#pragma GCC unroll 4
    for (int j = 0; j < 4 && kLanes > 4; ++j) {
      if constexpr (kLanes == 8) {
        t[j] = even(r[j], r[4 + j]);
        t[4 + j] = odd(r[j], r[4 + j]);
      } else if constexpr (kLanes == 16) {
        const V a = even(r[j], r[4 + j]), b = even(r[8 + j], r[12 + j]);
        const V c = odd(r[j], r[4 + j]), d = odd(r[8 + j], r[12 + j]);
        t[j] = even(a, b);
        t[8 + j] = odd(a, b);
        t[4 + j] = even(c, d);
        t[12 + j] = odd(c, d);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes && kLanes > 4; ++i) r[i] = t[i];
  }
};

// The vectors of the instruction set that the translation unit is compiled for.
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
using NativeVectors = ElementVectors<Isa::kAvx512, 16>;
#elif defined(__AVX2__) && defined(__FMA__)
using NativeVectors = ElementVectors<Isa::kAvx2, 8>;
#else
using NativeVectors = ElementVectors<Isa::kGeneric, 4>;
#endif

}  // namespace
}  // namespace amp::kernels
