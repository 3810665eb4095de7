// Self-attention on interleaved projections (GluonNLP 0.x): the two products around the softmax.
//
// The projections are (length, batch, heads * 3 * size): for each head its query, key and value side by side.
#include <algorithm>
#include <cmath>

#include "dnnl/lowering.h"
#include "dnnl/reference.h"
#include "ops/matmul.h"
#include "ops/numeric.h"
#include "ops/rules.h"
#include "passes/amp_facts.h"

namespace amp {
namespace {

struct HeadsParam {
  std::int64_t heads = 0;
};

ParamSchema<HeadsParam> Schema() {
  return ParamSchema<HeadsParam>()
      .Required("heads", &HeadsParam::heads, "Number of attention heads.")
      .Range(1, 1 << 20);
}

enum class Part { kQuery = 0, kKey = 1, kValue = 2 };

struct Sizes {
  std::int64_t length, batch, heads, size;
};

Sizes SizesOf(const Node& node, const Shape& projections) {
  const std::int64_t heads = node.params<HeadsParam>().heads;
  if (projections.rank() != 3 || projections[2] % (3 * heads) != 0) {
    FailAt(node, "expected projections (length, batch, 3 * {} * size), got {}", heads, projections.ToString());
  }
  return {projections[0], projections[1], heads, projections[2] / (3 * heads)};
}

// One part as (batch * heads, length, size).
NDArray Extract(const NDArray& projections, const Sizes& s, Part part) {
  const NDArray split = projections.Reshaped(Shape{s.length, s.batch * s.heads, 3, s.size});
  NDArray out(projections.dtype(), Shape{s.batch * s.heads, s.length, s.size});
  const auto row = static_cast<std::size_t>(s.size * BytesOf(out.dtype()));
  for (std::int64_t l = 0; l < s.length; ++l) {
    for (std::int64_t b = 0; b < s.batch * s.heads; ++b) {
      const std::int64_t source = (l * s.batch * s.heads + b) * 3 + static_cast<std::int64_t>(part);
      std::copy_n(split.As<char>() + static_cast<std::size_t>(source) * row, row,
                  out.As<char>() + static_cast<std::size_t>(b * s.length + l) * row);
    }
  }
  return out;
}

onednn::ValueId Extract(onednn::LowerContext& c, onednn::ValueId projections, const Sizes& s, Part part) {
  const auto split = c.Reshape(projections, Shape{s.length, s.batch * s.heads, 3, s.size});
  const auto slice = c.Emit(onednn::SliceWork{{0, 0, static_cast<std::int64_t>(part), 0}}, {split},
                            {c.DTypeOf(split), Shape{s.length, s.batch * s.heads, 1, s.size}});
  return c.Permute(c.Reshape(slice, Shape{s.length, s.batch * s.heads, s.size}), {1, 0, 2});
}

void InferQK(ShapeRelation& r) {
  if (!r.in(0).fully_known()) return;
  const Sizes s = SizesOf(r.node(), r.in(0));
  r.Out(0, Shape{s.batch * s.heads, s.length, s.length});
}

double Scale(const Sizes& s) { return 1.0 / std::sqrt(static_cast<double>(s.size)); }

void QKReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Sizes s = SizesOf(node, in[0].shape());
  const NDArray keys = Transposed(Extract(in[0], s, Part::kKey), {0, 2, 1});
  MatMulReference(Extract(in[0], s, Part::kQuery), keys, Scale(s), out[0]);
}

bool LowerQK(onednn::LowerContext& c) {
  const Sizes s = SizesOf(c.node(), c.in_type(0).shape);
  const auto keys = c.Permute(Extract(c, c.in(0), s, Part::kKey), {0, 2, 1});
  c.SetOut(0, c.Emit(onednn::MatMulWork{static_cast<float>(Scale(s))}, {Extract(c, c.in(0), s, Part::kQuery), keys},
                     c.out_type(0)));
  return true;
}

void InferValAtt(ShapeRelation& r) {
  if (!r.in(0).fully_known()) return;
  const Sizes s = SizesOf(r.node(), r.in(0));
  r.In(1, Shape{s.batch * s.heads, s.length, s.length});
  r.Out(0, Shape{s.length, s.batch, s.heads * s.size});
}

void ValAttReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Sizes s = SizesOf(node, in[0].shape());
  NDArray heads(out[0].dtype(), Shape{s.batch * s.heads, s.length, s.size});
  MatMulReference(in[1], Extract(in[0], s, Part::kValue), 1.0, heads);
  CopyElements(Transposed(heads, {1, 0, 2}), out[0]);
}

bool LowerValAtt(onednn::LowerContext& c) {
  const Sizes s = SizesOf(c.node(), c.in_type(0).shape);
  const auto heads = c.Emit(onednn::MatMulWork{}, {c.in(1), Extract(c, c.in(0), s, Part::kValue)},
                            {c.out_type(0).dtype, Shape{s.batch * s.heads, s.length, s.size}});
  c.SetOut(0, c.Reshape(c.Permute(heads, {1, 0, 2}), c.out_type(0).shape));
  return true;
}

[[maybe_unused]] const auto kQK = RegisterOp<HeadsParam>("_contrib_interleaved_matmul_selfatt_qk")
                                      .Doc("Queries times keys over sqrt(size): (batch * heads, length, length).")
                                      .Params(Schema())
                                      .Inputs({"queries_keys_values"})
                                      .Set(ShapeRule{InferQK})
                                      .Set(SameFloatDType())
                                      .Set(AmpFacts{Arithmetic::kAccumulates})
                                      .Set(ReferenceKernel{QKReference})
                                      .Set(onednn::LowerRule{LowerQK});

[[maybe_unused]] const auto kValAtt =
    RegisterOp<HeadsParam>("_contrib_interleaved_matmul_selfatt_valatt")
        .Doc("Attention (batch * heads, length, length) times values: (length, batch, heads * size).")
        .Params(Schema())
        .Inputs({"queries_keys_values", "attention"})
        .Set(ShapeRule{InferValAtt})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kAccumulates})
        .Set(ReferenceKernel{ValAttReference})
        .Set(onednn::LowerRule{LowerValAtt});

}  // namespace
}  // namespace amp
