// How threads share a product.
#pragma once

#include <cstdint>

#include "kernels/gemm/gemm.h"

namespace amp::kernels {

struct GemmSplit {
  std::int64_t rows = 0, blocks = 0;         // of rows
  std::int64_t channels = 0, stretches = 0;  // of output channels
  std::int64_t parts() const { return blocks * stretches; }
};

// Into parts of at most so many rows. All threads get about the same.
GemmSplit SplitGemm(const Gemm& job, std::int64_t max_rows);

}  // namespace amp::kernels
