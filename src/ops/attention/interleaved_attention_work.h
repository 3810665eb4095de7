// What the operators of attention share: one description of the work, its reference code and its kernels.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>

#include "kernels/attention/attention.h"
#include "nnvm/ndarray.h"
#include "passes/infer.h"
#include "program/lowering.h"

namespace amp {

// Operands are row-major arrays. A gradient lies as what it belongs to does.
struct AttentionWork {
  kernels::Attention job;  // but for what depends on dtypes
  Masking masking = Masking::kNone;
  std::optional<DType> p_dtype = {};  // P and dS are rounded to it before their products; absent: they are not
  bool interleaved = false;           // one array holds each query, its key and its value side by side

  std::size_t num_operands() const { return interleaved ? 1 : 3; }
  std::size_t num_inputs() const { return num_operands() + (masking == Masking::kNone ? 0 : 1); }
};

// Rows of (batch, heads, rows, size) and (batch, heads, rows).
inline kernels::HeadRows HeadsThenRows(std::int64_t heads, std::int64_t rows, std::int64_t size) {
  return {heads * rows * size, rows * size, size};
}

// The dtype of log-sum-exp and of sums of values, which stay as they are summed up.
inline DType StatisticsDType(DType operands) { return operands == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32; }

// Infers, for a gradient, results and their gradients, which may be of other dtypes than operands where products of
// bfloat16 are summed up in float32, and log-sum-exps. `operand` is an input.
void InferAttentionResults(DTypeRelation& r, int operand, std::initializer_list<int> results,
                           std::initializer_list<int> statistics);

// Inputs: queries, keys and values, or all in one; lengths (int32) or mask (bool). Outputs, those that are defined: the
// result, log-sum-exp, and the sums of values (batch, heads, rows, size) before they are normalised.
void AttentionReference(const AttentionWork& work, std::span<const NDArray> in, std::span<NDArray> out);

// Inputs: the gradients of the result and, if given, of log-sum-exp; those of above; the result, log-sum-exp. Outputs:
// the gradients of queries, keys and values, or of all in one.
void AttentionGradientReference(const AttentionWork& work, std::span<const NDArray> in, std::span<NDArray> out);

// Lowers to kernels, which compute in float32. False for dtypes without a kernel, and where there is nothing to do.
bool LowerAttention(LowerContext& c, const AttentionWork& work);
bool LowerAttentionGradient(LowerContext& c, const AttentionWork& work);

}  // namespace amp
