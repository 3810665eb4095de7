// Matrices with zeros above or below a diagonal.
#pragma once

#include <cstddef>
#include <cstdint>

namespace amp::kernels {

struct Triangle {
  std::int64_t matrices = 0, rows = 0, columns = 0;
  std::int64_t row_stride = 0;  // of the source; 0: each row is the same
  std::int64_t diagonal = 0;    // counted from the main one, to the right
  bool lower = true;            // what lies below it stays
  std::size_t element_bytes = 4;

  // Splits the work among the threads of the scope (ParallelFor).
  void Run(const void* x, void* y) const;
};

}  // namespace amp::kernels
