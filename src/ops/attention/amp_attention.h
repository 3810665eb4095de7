// The operators that the pass FuseAttention makes: what their definitions and those of their gradients share.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nnvm/param.h"
#include "ops/attention/interleaved_attention_work.h"
#include "passes/infer.h"

namespace amp {

struct AmpAttentionParam {
  std::int64_t heads = 0;  // of interleaved projections
  double scale = 1;
  std::string masking = "none";
  bool causal = false;
  std::optional<std::int64_t> row_offset;
};

ParamSchema<AmpAttentionParam> SeparateAttentionSchema();
ParamSchema<AmpAttentionParam> InterleavedAttentionSchema();
void ValidateAttention(AmpAttentionParam& p);
Masking MaskingOf(const AmpAttentionParam& p);
// Where causal: query i sees key j where j <= i + the offset.
std::int64_t RowOffsetOf(const AmpAttentionParam& p, std::int64_t queries, std::int64_t keys);
// Adds the input that says what is hidden.
std::vector<std::string> WithMasking(const AmpAttentionParam& p, std::vector<std::string> names);

// Shapes and dtypes of the forward operators.
void InferSeparateAttention(ShapeRelation& r);
void InferInterleavedAttention(ShapeRelation& r);
// The dtype of what says what is hidden.
DType SeenDType(const AmpAttentionParam& p);

// (length, batch, heads, 3, size).
Shape SplitProjections(const Node& node, const Shape& projections);

// `mask`: its shape, or null. The axes of heads count as one where there is none but them or more than two.
AttentionWork SeparateAttentionWork(const AmpAttentionParam& p, DType dtype, const Shape& queries, const Shape& values,
                                    const Shape* mask);
AttentionWork InterleavedAttentionWork(const AmpAttentionParam& p, DType dtype, const Shape& split);

// Calls run(work, inputs) for reference code, with a mask of all heads and queries; inputs from `first` on are query,
// key and value.
using RunAttentionWork = std::function<void(const AttentionWork& work, std::span<const NDArray> in)>;
void WithSeparateAttention(const Node& node, std::span<const NDArray> in, std::size_t first,
                           const RunAttentionWork& run);

}  // namespace amp
