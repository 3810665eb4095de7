// Gradients of what normalises rows: softmax, its logarithm, and layer norm.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/cpu.h"

namespace amp::kernels {

// The gradient of softmax(x / temperature), from the gradient of its result and the result, rows of `size` elements.
struct SoftmaxGradient {
  std::int64_t rows = 1, size = 1;
  float temperature = 1;
  bool logarithm = false;
  bool is_bf16 = false;  // g, y and the result; else float32
};

// `lengths`, where not null: the elements of each row that take part; the others have no gradient. Splits rows among
// the threads of the scope (ParallelFor); the result does not depend on their number. Allocates nothing.
void RunSoftmaxGradient(const SoftmaxGradient& job, const void* g, const void* y, const std::int64_t* lengths,
                        void* result);

// The gradient of (x - mean) / sqrt(variance + epsilon) * gamma + beta with the statistics of each row.
struct LayerNormGradient {
  std::int64_t rows = 1, size = 1;
  float epsilon = 0;
  bool is_bf16 = false;  // g, x and the result; else float32
};

std::size_t LayerNormGradientScratchBytes(const LayerNormGradient& job);
// Works like RunSoftmaxGradient.
void RunLayerNormGradient(const LayerNormGradient& job, const void* g, const void* x, const float* gamma, void* result,
                          float* gamma_gradient, float* beta_gradient, void* scratch);

struct RowGradientsTable {
  Isa isa;
  // One row. By [is_bf16].
  using Softmax = void (*)(const SoftmaxGradient& job, const void* g, const void* y, std::int64_t used, void* result);
  Softmax softmax[2];
  // One row, whose share is added to the gradients of gamma and beta. By [is_bf16].
  using LayerNorm = void (*)(const LayerNormGradient& job, const void* g, const void* x, const float* gamma,
                             void* result, float* gamma_gradient, float* beta_gradient);
  LayerNorm layer_norm[2];

  static const RowGradientsTable *Generic(), *Avx2(), *Avx512();  // see BestTable
};

}  // namespace amp::kernels
