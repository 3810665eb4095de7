// The code of sums over channels, for vectors of kLanes numbers. One source for all instruction sets; see
// vector_code.h.
#pragma once

#include <cstring>

#include "kernels/base/vector_code.h"
#include "kernels/reduce/channel_sums.h"

namespace amp::kernels {

template <Isa kIsa, int kLanes>
struct ChannelSumsCode {
  using Code = VectorCode<kIsa, kLanes>;
  using Floats = typename Code::Floats;

  static Floats Load(const float* x) { return Code::Load(x); }
  static Floats Load(const std::uint16_t* x) { return Code::LoadBF16(x); }

  // What an element adds to the two sums; V is a number or a vector of them.
  template <SumsOf kWhat, class V>
  static void Add(V g, V x, V shift, V* first, V* second) {
    if constexpr (kWhat == SumsOf::kGradient) {
      *first += g;
    } else if constexpr (kWhat == SumsOf::kSquares) {
      const V distance = x - shift;
      *first += distance;
      *second += distance * distance;
    } else {
      *first += g;
      *second += g * (x - shift);
    }
  }
  // Neighbours of `g` and `x` are added; what is not read is null.
  template <SumsOf kWhat, class T>
  static void AddVector(const T* g, const T* x, Floats shift, Floats* first, Floats* second) {
    const Floats a = kWhat == SumsOf::kSquares ? Floats{} : Load(g);
    const Floats b = kWhat == SumsOf::kGradient ? Floats{} : Load(x);
    Add<kWhat>(a, b, shift, first, second);
  }
  template <SumsOf kWhat, class T>
  static void AddNumber(const T* g, const T* x, float shift, float* first, float* second) {
    const float a = kWhat == SumsOf::kSquares ? 0 : Code::Number(g);
    const float b = kWhat == SumsOf::kGradient ? 0 : Code::Number(x);
    Add<kWhat>(a, b, shift, first, second);
  }

  // kVectors * kLanes channels. Sums of a few rows are added up: errors grow slowly.
  template <SumsOf kWhat, class T, int kVectors>
  static void Columns(const T* g, std::int64_t g_row, const T* x, std::int64_t x_row, std::int64_t rows,
                      const float* shift, float* first, float* second) {
    constexpr std::int64_t kTogether = 32;
    Floats shifts[kVectors] = {}, firsts[kVectors] = {}, seconds[kVectors] = {};
    for (int v = 0; v < kVectors && kWhat != SumsOf::kGradient; ++v) shifts[v] = Code::Load(shift + v * kLanes);
    for (std::int64_t begin = 0; begin < rows; begin += kTogether) {
      const std::int64_t end = begin + kTogether < rows ? begin + kTogether : rows;
      Floats a[kVectors] = {}, b[kVectors] = {};
      for (std::int64_t r = begin; r < end; ++r) {
        for (int v = 0; v < kVectors; ++v) {
          AddVector<kWhat>(g + r * g_row + v * kLanes, x + r * x_row + v * kLanes, shifts[v], &a[v], &b[v]);
        }
      }
      for (int v = 0; v < kVectors; ++v) {
        firsts[v] += a[v];
        seconds[v] += b[v];
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      std::memcpy(first + v * kLanes, &firsts[v], sizeof firsts[v]);
      std::memcpy(second + v * kLanes, &seconds[v], sizeof seconds[v]);
    }
  }

  template <SumsOf kWhat, class T>
  static void Rows(const void* from_g, std::int64_t g_row, const void* from_x, std::int64_t x_row, std::int64_t rows,
                   std::int64_t channels, const float* shift, float* first, float* second) {
    const T *g = static_cast<const T*>(from_g), *x = static_cast<const T*>(from_x);
    std::int64_t c = 0;
    for (; c + 4 * kLanes <= channels; c += 4 * kLanes) {
      Columns<kWhat, T, 4>(g + c, g_row, x + c, x_row, rows, shift + c, first + c, second + c);
    }
    for (; c + kLanes <= channels; c += kLanes) {
      Columns<kWhat, T, 1>(g + c, g_row, x + c, x_row, rows, shift + c, first + c, second + c);
    }
    for (; c < channels; ++c) {
      double sums[2] = {0, 0};
      const float from = kWhat == SumsOf::kGradient ? 0 : shift[c];
      for (std::int64_t r = 0; r < rows; ++r) {
        float a = 0, b = 0;
        AddNumber<kWhat>(g + r * g_row + c, x + r * x_row + c, from, &a, &b);
        sums[0] += static_cast<double>(a);
        sums[1] += static_cast<double>(b);
      }
      first[c] = static_cast<float>(sums[0]);
      second[c] = static_cast<float>(sums[1]);
    }
  }

  static float SumOf(Floats lanes) {
    float numbers[kLanes];
    std::memcpy(numbers, &lanes, sizeof lanes);
    for (int count = kLanes / 2; count > 0; count /= 2) {
      for (int i = 0; i < count; ++i) numbers[i] += numbers[i + count];
    }
    return numbers[0];
  }

  template <SumsOf kWhat, class T>
  static void Plane(const void* from_g, const void* from_x, std::int64_t count, float shift, float* first,
                    float* second) {
    constexpr std::int64_t kVectors = 4, kTogether = 32 * kVectors * kLanes;
    const T *g = static_cast<const T*>(from_g), *x = static_cast<const T*>(from_x);
    const Floats shifts = Code::All(shift);
    Floats firsts[kVectors] = {}, seconds[kVectors] = {};
    std::int64_t i = 0;
    while (i + kVectors * kLanes <= count) {
      const std::int64_t end = i + kTogether < count ? i + kTogether : count;
      Floats a[kVectors] = {}, b[kVectors] = {};
      for (; i + kVectors * kLanes <= end; i += kVectors * kLanes) {
        for (std::int64_t v = 0; v < kVectors; ++v) {
          AddVector<kWhat>(g + i + v * kLanes, x + i + v * kLanes, shifts, &a[v], &b[v]);
        }
      }
      for (std::int64_t v = 0; v < kVectors; ++v) {
        firsts[v] += a[v];
        seconds[v] += b[v];
      }
    }
    for (; i + kLanes <= count; i += kLanes) AddVector<kWhat>(g + i, x + i, shifts, &firsts[0], &seconds[0]);
    *first = SumOf((firsts[0] + firsts[1]) + (firsts[2] + firsts[3]));
    *second = SumOf((seconds[0] + seconds[1]) + (seconds[2] + seconds[3]));
    for (; i < count; ++i) AddNumber<kWhat>(g + i, x + i, shift, first, second);
  }

  using Half = std::uint16_t;
  static constexpr SumsOf kG = SumsOf::kGradient, kS = SumsOf::kSquares, kP = SumsOf::kProducts;
  static constexpr ChannelSumsTable kTable = {
      kIsa,
      {{Rows<kG, float>, Rows<kG, Half>}, {Rows<kS, float>, Rows<kS, Half>}, {Rows<kP, float>, Rows<kP, Half>}},
      {{Plane<kG, float>, Plane<kG, Half>}, {Plane<kS, float>, Plane<kS, Half>}, {Plane<kP, float>, Plane<kP, Half>}}};
};

}  // namespace amp::kernels
