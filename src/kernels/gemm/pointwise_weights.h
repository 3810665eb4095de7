// How weights of products are packed: columns of output channels.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/gemm/pointwise.h"

namespace amp::kernels {

// Numbers that are multiplied together, and the bytes of one.
inline std::int64_t PointwisePerUnit(const Pointwise& job) { return job.multiplies == Multiplies::kFloat32 ? 1 : 2; }
inline std::int64_t PointwiseElementBytes(const Pointwise& job) { return 4 / PointwisePerUnit(job); }

inline std::int64_t PointwiseColumns(const Pointwise& job) {
  return (job.out_channels + kPointwiseColumns - 1) / kPointwiseColumns;
}
inline std::int64_t PointwiseColumnBytes(const Pointwise& job) {
  return PointwiseColumnElements(job) * PointwiseElementBytes(job);
}

// Of input channels: see FindInt16Factors.
std::vector<float> FindPointwiseFactors(const Pointwise& job, const float* weights);

// All of a product: factors, where int16 is multiplied, and the columns. See PackPointwiseWeights.
std::size_t PackedColumnsBytes(const Pointwise& job);
void PackPointwiseColumns(const Pointwise& job, const float* weights, void* packed);

// Of packed weights, behind the factors.
const void* PointwiseColumnAt(const Pointwise& job, const void* packed, std::int64_t column);

}  // namespace amp::kernels
