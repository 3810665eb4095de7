// What kernels for AVX-512 share. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace amp::kernels {
namespace {

constexpr std::int64_t kLanes = 16;

inline __mmask16 Lanes(std::int64_t count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xFFFF : count <= 0 ? 0 : (1u << count) - 1);
}

}  // namespace
}  // namespace amp::kernels
