// Elements as so many bytes, whatever they mean.
#pragma once

#include <cstddef>
#include <cstdint>

namespace amp::kernels {

// Calls f with a zero of the unsigned type that has so many bytes: 1, 2, 4 or 8.
template <class F>
void WithElementOf(std::size_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f(std::uint8_t{0});
    case 2:
      return f(std::uint16_t{0});
    case 4:
      return f(std::uint32_t{0});
    default:
      return f(std::uint64_t{0});
  }
}

}  // namespace amp::kernels
