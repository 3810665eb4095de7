// Sorting of numbers that stand for elements.
#pragma once

#include <bit>
#include <cstdint>

namespace amp::kernels {

// Unsigned numbers in the order of floats: -0 is 0, and NaN, which are all equal, come last.
inline std::uint32_t SortKeyOf(float value) {
  if (value != value) return 0xFFFFFFFFu;
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.f);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}

// Sorts entries, whose lower halves ascend, by their upper halves; those of equal upper halves keep their order.
// `spare` has room for as many. On the calling thread.
void SortByUpperHalf(std::uint64_t* entries, std::uint64_t* spare, std::int64_t count);

// Drops most entries that do not belong to the `chosen` with the smallest upper halves; of equal ones the first belong.
// Those that stay, whose number it returns, keep their order. On the calling thread.
std::int64_t KeepSmallest(std::uint64_t* entries, std::int64_t count, std::int64_t chosen);

}  // namespace amp::kernels
