// The elements along an axis in order of size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/elementwise/cast.h"

namespace amp::kernels {

// Lines of an array (outer, size, inner). Equal elements keep their order; NaN counts as the largest.
struct SortRows {
  ElementType type = ElementType::kFloat32;
  std::int64_t outer = 1, size = 1, inner = 1;
  std::int64_t chosen = 1;  // how many come out of a line, in order: results are (outer, chosen, inner)
  bool ascending = true;
  ElementType position_type = ElementType::kFloat32;

  static constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;
  static bool IsElementType(ElementType type);
  static bool IsPositionType(ElementType type);

  std::size_t ScratchBytes() const;
  // Elements and where they were in their line; either may be null. Splits the work among the threads of the scope
  // (ParallelFor).
  void Run(const void* x, void* elements, void* positions, void* scratch) const;
};

}  // namespace amp::kernels
