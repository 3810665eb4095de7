// How threads share a product, and how its weights are packed: columns of output channels.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "kernels/threads/partition.h"

namespace amp::kernels {

// Numbers that are multiplied together, and the bytes of one.
inline std::int64_t GemmPerUnit(const Gemm& job) { return job.compute_type == ComputeType::kFloat32 ? 1 : 2; }
inline std::int64_t GemmElementBytes(const Gemm& job) { return 4 / GemmPerUnit(job); }

inline std::int64_t GemmColumns(const Gemm& job) { return (job.out_channels + kGemmColumns - 1) / kGemmColumns; }
inline std::int64_t GemmColumnBytes(const Gemm& job) { return GemmColumnElements(job) * GemmElementBytes(job); }

// The factors of input channels: see FindInt16Factors.
std::vector<float> FindGemmFactors(const Gemm& job, const float* weights);

// All of a product: factors, where int16 is multiplied, and the columns. See PackGemmWeights.
std::size_t PackedColumnsBytes(const Gemm& job);
void PackGemmColumns(const Gemm& job, const float* weights, void* packed);

// A column of packed weights, behind the factors.
const void* GemmColumnAt(const Gemm& job, const void* packed, std::int64_t column);

// Splits the work into parts of at most so many rows.
Partition SplitGemm(const Gemm& job, std::int64_t max_rows);

}  // namespace amp::kernels
