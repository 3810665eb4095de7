// Scalar products of reference kernels.
#pragma once

#include <array>
#include <cstdint>

namespace amp {

// Sums in 16 lanes: shorter chains of additions round less, and compilers can use vector instructions.
template <class T>
T Dot(const T* a, const T* b, std::int64_t size) {
  constexpr std::int64_t kLanes = 16;
  std::array<T, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] += a[i + j] * b[i + j];
  }
  T sum{0};
  for (; i < size; ++i) sum += a[i] * b[i];
  for (const T lane : lanes) sum += lane;
  return sum;
}

}  // namespace amp
