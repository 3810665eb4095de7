// Attention as one operator: what the pass FuseAttention puts in place of two products and the softmax between them.
#include <cmath>
#include <utility>

#include "ops/attention/amp_attention.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/reduction_depth.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::amp_attention {
namespace {

// Data inputs of one float dtype; the hidden outputs stay as they are summed up.
DTypeRule InferDTypes(int num_operands) {
  return {[num_operands](DTypeRelation& r) {
    std::vector<int> operands(num_operands);
    for (int i = 0; i < num_operands; ++i) operands[i] = i;
    r.Same(operands, {0});
    r.InIsFloat(0);
    if (IsKnown(r.in(0))) r.Out(1, StatisticsDType(r.in(0))), r.Out(2, StatisticsDType(r.in(0)));
    if (r.num_inputs() == num_operands || IsKnown(r.in(num_operands))) return;
    r.In(num_operands, SeenDType(r.node().params<AmpAttentionParam>()));
  }};
}

void SeparateReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  WithSeparateAttention(node, in, 0, [&](const AttentionWork& work, std::span<const NDArray> operands) {
    AttentionReference(work, operands, out);
  });
}

void InterleavedReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<AmpAttentionParam>();
  AttentionReference(InterleavedAttentionWork(p, in[0].dtype(), SplitProjections(node, in[0].shape())), in, out);
}

// ---- lowering ----

Shape WithLast(Shape shape, std::int64_t size) {
  shape[shape.rank() - 1] = size;
  return shape;
}

Shape WithoutLast(const Shape& shape) {
  std::vector<std::int64_t> dims = shape.dims();
  dims.pop_back();
  return Shape(dims);
}

// The step takes operands in any order of axes, and gives the result and log-sum-exp.
bool HasStep(const LowerContext& c, int num_operands) {
  const auto is_supported = [](DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kBFloat16; };
  if (c.is_read(2)) return false;
  if (!is_supported(c.in_type(0).dtype) || !is_supported(c.out_type(0).dtype)) return false;
  return c.node().params<AmpAttentionParam>().masking != "length" || c.in_type(num_operands).dtype == DType::kInt32;
}

AttentionSpec SpecOf(const AmpAttentionParam& p, bool interleaved, std::int64_t queries, std::int64_t keys) {
  return {interleaved, static_cast<float>(p.scale), MaskingOf(p), p.causal, RowOffsetOf(p, queries, keys)};
}

// The result in this shape, and log-sum-exp in that one where it is read.
void EmitStep(LowerContext& c, AttentionSpec spec, std::vector<ValueId> inputs, const Shape& result,
              const Shape& statistics) {
  std::vector<TensorType> types{{c.out_type(0).dtype, result}};
  if (c.is_read(1)) types.push_back({DType::kFloat32, statistics});
  const std::vector<ValueId> y = c.EmitSeveral(spec, std::move(inputs), std::move(types));
  const auto set = [&](int i, const Shape& shape) {
    const ValueId value = y[static_cast<std::size_t>(i)];
    c.SetOut(i, c.ShapeOf(value) == shape ? value : c.Reshape(value, shape));
  };
  set(0, c.out_type(0).shape);
  if (c.is_read(1)) set(1, c.out_type(1).shape);
}

// Heads of the graph along one axis where the kernel does not know more of them.
ValueId Flat(LowerContext& c, ValueId value, int num_last) {
  const Shape shape = c.ShapeOf(value);
  std::vector<std::int64_t> dims{shape.SizeOf(0, shape.rank() - num_last)};
  for (int i = shape.rank() - num_last; i < shape.rank(); ++i) dims.push_back(shape[i]);
  return c.Reshape(value, Shape(dims));
}

// Whether each of more than two axes of heads has a mask of its own, or there are but two.
bool HasReadableMask(const LowerContext& c, int mask, const Shape& out) {
  return out.rank() <= 4 || c.in_type(mask).shape == WithLast(out, c.in_type(mask).shape[out.rank() - 1]);
}

bool LowerSeparate(LowerContext& c) {
  if (!HasStep(c, 3)) return false;
  const auto& p = c.node().params<AmpAttentionParam>();
  const Shape& out = c.out_type(0).shape;
  const bool is_flat = out.rank() > 4;
  const bool has_mask = p.masking == "mask";
  if (has_mask && !HasReadableMask(c, 3, out)) return false;
  std::vector<ValueId> inputs{c.in(0), c.in(1), c.in(2)};
  if (p.masking != "none") inputs.push_back(has_mask ? c.Cast(c.in(3), DType::kBool) : c.in(3));
  const std::int64_t heads = out.SizeOf(0, out.rank() - 2), rows = out[out.rank() - 2];
  const AttentionSpec spec = SpecOf(p, false, rows, c.in_type(1).shape[out.rank() - 2]);
  if (!is_flat) {
    EmitStep(c, spec, inputs, out, WithoutLast(out));
    return true;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = Flat(c, inputs[i], i == 3 && !has_mask ? 1 : 2);
  EmitStep(c, spec, inputs, Shape{heads, rows, out[out.rank() - 1]}, Shape{heads, rows});
  return true;
}

// The sums of values are read, too.
bool LowerSeparateToKernel(LowerContext& c) {
  const auto& p = c.node().params<AmpAttentionParam>();
  const bool has_mask = p.masking == "mask";
  if (has_mask && (c.out_type(0).shape.rank() > 4 || !HasReadableMask(c, 3, c.out_type(0).shape))) return false;
  return LowerAttention(c, SeparateAttentionWork(p, c.in_type(0).dtype, c.in_type(0).shape, c.in_type(2).shape,
                                                 has_mask ? &c.in_type(3).shape : nullptr));
}

bool LowerInterleaved(LowerContext& c) {
  if (!HasStep(c, 1)) return false;
  const auto& p = c.node().params<AmpAttentionParam>();
  const Shape s = SplitProjections(c.node(), c.in_type(0).shape);
  std::vector<ValueId> inputs{c.Reshape(c.in(0), s)};
  if (p.masking == "length") inputs.push_back(c.Reshape(c.in(1), Shape{s[1], s[2], s[0]}));
  EmitStep(c, SpecOf(p, true, s[0], s[0]), inputs, Shape{s[0], s[1], s[2], s[4]}, Shape{s[1], s[2], s[0]});
  return true;
}

bool LowerInterleavedToKernel(LowerContext& c) {
  const auto& p = c.node().params<AmpAttentionParam>();
  return LowerAttention(
      c, InterleavedAttentionWork(p, c.in_type(0).dtype, SplitProjections(c.node(), c.in_type(0).shape)));
}

// ---- gradients ----

// A rule of forward nodes: (gradient, operands and what is seen, output, logsumexp) give the gradients of operands.
GradientRule RuleOf(const char* op, int num_operands) {
  return {[op, num_operands](GradientContext& c) {
    std::vector<Term> inputs{c.gradient()};
    for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.in(i));
    inputs.push_back(c.out(0));
    inputs.push_back(c.out(1));
    const std::vector<Term> gradients = c.CallAll(op, inputs, c.attrs());
    for (int i = 0; i < num_operands; ++i) c.Set(i, gradients[static_cast<std::size_t>(i)]);
  }};
}

const std::vector<std::string> kOutputs{"output", "logsumexp", "accumulator"};

[[maybe_unused]] const auto kSeparate =
    RegisterOp<AmpAttentionParam>("_amp_attention")
        .Doc(
            "softmax(scale * query key^T) value for each head: query (heads..., M, D), key (heads..., N, D), value "
            "(heads..., N, E).\n"
            "A query sees the first `lengths` (heads..., M) keys, or those whose mask (heads..., M, N) is not 0, whose "
            "first axes may have size 1; where causal, none beyond its row_offset. One that sees none gives zeros. "
            "Hidden "
            "outputs: the logarithm of the sum of exponentials, and the sum of values weighted by exp(score - largest "
            "score) before it is normalised.")
        .Params(SeparateAttentionSchema(), ValidateAttention)
        .Inputs([](const AmpAttentionParam& p) {
          return WithMasking(p, {"query", "key", "value"});
        })
        .Outputs(kOutputs)
        .Set(ShapeRule{InferSeparateAttention})
        .Set(InferDTypes(3))
        .Set(AmpFacts{Arithmetic::kAccumulates, {SlotRole::kData, SlotRole::kData, SlotRole::kData, SlotRole::kIndex}})
        .Set(ReductionDepth{[](const Node&, std::span<const Shape> in, const Shape&) {
          const Shape& keys = in[1];
          return std::max(keys[keys.rank() - 1], keys[keys.rank() - 2]);
        }})
        .Set(RuleOf("_backward_amp_attention", 3))
        .Set(ReferenceKernel{SeparateReference})
        .Set(LowerRule{LowerSeparate})
        .Set(KernelRule{LowerSeparateToKernel});

[[maybe_unused]] const auto kInterleaved =
    RegisterOp<AmpAttentionParam>("_amp_interleaved_attention")
        .Doc(
            "Attention on projections (length, batch, heads * 3 * size) that hold for each head its query, key and "
            "value side by side: (length, batch, heads * size).\n"
            "A query sees the first `lengths` (batch * heads, length) keys; hidden outputs as of _amp_attention.")
        .Params(InterleavedAttentionSchema(), ValidateAttention)
        .Inputs([](const AmpAttentionParam& p) { return WithMasking(p, {"queries_keys_values"}); })
        .Outputs(kOutputs)
        .Set(ShapeRule{InferInterleavedAttention})
        .Set(InferDTypes(1))
        .Set(AmpFacts{Arithmetic::kAccumulates, {SlotRole::kData, SlotRole::kIndex}})
        .Set(ReductionDepth{[](const Node& node, std::span<const Shape> in, const Shape&) {
          const Shape split = SplitProjections(node, in[0]);
          return std::max(split[0], split[4]);
        }})
        .Set(RuleOf("_backward_amp_interleaved_attention", 1))
        .Set(ReferenceKernel{InterleavedReference})
        .Set(LowerRule{LowerInterleaved})
        .Set(KernelRule{LowerInterleavedToKernel});

}  // namespace
}  // namespace amp::amp_attention
