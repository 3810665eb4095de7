// The code of gradients of rows, for vectors of kLanes numbers. One source for all instruction sets; see
// vector_code.h.
#pragma once

#include <cstring>

#include "kernels/base/vector_code.h"
#include "kernels/reduce/row_gradients.h"

namespace amp::kernels {

template <Isa kIsa, int kLanes>
struct RowGradientsCode {
  using Code = VectorCode<kIsa, kLanes>;
  using Floats = typename Code::Floats;
  using Halves = typename Code::Halves;

  static Floats Load(const float* x) { return Code::Load(x); }
  static Floats Load(const std::uint16_t* x) { return Code::LoadBF16(x); }
  // The first `count` elements, then zeros.
  template <class T>
  static Floats Load(const T* x, std::int64_t count) {
    if (count >= kLanes) return Load(x);
    T elements[kLanes] = {};
    std::memcpy(elements, x, static_cast<std::size_t>(count) * sizeof(T));
    return Load(elements);
  }
  static void Store(float* y, Floats value, std::int64_t count) {
    std::memcpy(y, &value, static_cast<std::size_t>(count) * sizeof(float));
  }
  static void Store(std::uint16_t* y, Floats value, std::int64_t count) {
    const Halves halves = __builtin_convertvector(Code::RoundedBits(value), Halves);
    std::memcpy(y, &halves, static_cast<std::size_t>(count) * sizeof(std::uint16_t));
  }

  // Calls f(place, how many elements count) for all vectors of a row; the last may be a part.
  template <class F>
  static void ForVectors(std::int64_t size, F&& f) {
    std::int64_t i = 0;
    for (; i + kLanes <= size; i += kLanes) f(i, std::int64_t{kLanes});
    if (i < size) f(i, size - i);
  }

  static float SumOf(Floats lanes) {
    float numbers[kLanes];
    std::memcpy(numbers, &lanes, sizeof lanes);
    for (int count = kLanes / 2; count > 0; count /= 2) {
      for (int i = 0; i < count; ++i) numbers[i] += numbers[i + count];
    }
    return numbers[0];
  }

  template <class T>
  static void Softmax(const SoftmaxGradient& job, const void* gradient, const void* output, std::int64_t used,
                      void* result) {
    const T *g = static_cast<const T*>(gradient), *y = static_cast<const T*>(output);
    T* to = static_cast<T*>(result);
    Floats sums{};
    ForVectors(used, [&](std::int64_t i, std::int64_t count) {
      const Floats each = Load(g + i, count);
      sums += job.logarithm ? each : each * Load(y + i, count);
    });
    const float sum = SumOf(sums);
    ForVectors(used, [&](std::int64_t i, std::int64_t count) {
      const Floats each = Load(g + i, count), out = Load(y + i, count);
      const Floats change = job.logarithm ? each - Code::Exp(out) * sum : out * (each - sum);
      Store(to + i, change / job.temperature, count);
    });
  }

  template <class T>
  static void LayerNorm(const LayerNormGradient& job, const void* gradient, const void* data, const float* gamma,
                        void* result, float* gamma_gradient, float* beta_gradient) {
    const T *g = static_cast<const T*>(gradient), *x = static_cast<const T*>(data);
    T* to = static_cast<T*>(result);
    const auto size = static_cast<float>(job.size);
    Floats sums{}, squares{}, shares{}, slopes{};
    ForVectors(job.size, [&](std::int64_t i, std::int64_t count) { sums += Load(x + i, count); });
    const float mean = SumOf(sums) / size;
    ForVectors(job.size, [&](std::int64_t i, std::int64_t count) {
      // Places behind the row count as the mean.
      const Floats distance = count == kLanes ? Load(x + i) - mean : PartDistance(x + i, count, mean);
      squares += distance * distance;
    });
    const float inverse = 1 / __builtin_sqrtf(SumOf(squares) / size + job.epsilon);
    ForVectors(job.size, [&](std::int64_t i, std::int64_t count) {
      const Floats normal = (Load(x + i, count) - mean) * inverse, each = Load(g + i, count);
      const Floats scaled = each * Load(gamma + i, count);
      Store(gamma_gradient + i, Load(gamma_gradient + i, count) + each * normal, count);
      Store(beta_gradient + i, Load(beta_gradient + i, count) + each, count);
      shares += scaled;
      slopes += scaled * normal;
    });
    const float share = SumOf(shares) / size, slope = SumOf(slopes) / size;
    ForVectors(job.size, [&](std::int64_t i, std::int64_t count) {
      const Floats normal = (Load(x + i, count) - mean) * inverse;
      const Floats scaled = Load(g + i, count) * Load(gamma + i, count);
      Store(to + i, (scaled - share - normal * slope) * inverse, count);
    });
  }

  template <class T>
  static Floats PartDistance(const T* x, std::int64_t count, float mean) {
    float distances[kLanes] = {};
    for (std::int64_t i = 0; i < count; ++i) distances[i] = Code::Number(x + i) - mean;
    return Code::Load(distances);
  }

  using Half = std::uint16_t;
  static constexpr RowGradientsTable kTable = {
      kIsa, {Softmax<float>, Softmax<Half>}, {LayerNorm<float>, LayerNorm<Half>}};
};

}  // namespace amp::kernels
