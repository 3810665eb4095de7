// Attention on interleaved projections (GluonNLP 0.x): the two products around the softmax.
//
// The projections of self-attention are (length, batch, heads * 3 * size): for each head its query, key and value side
// by side. Those of an encoder's output, read by a decoder, hold keys and values alone, the queries stand by
// themselves.
#include <algorithm>
#include <cmath>

#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/linalg/matmul.h"
#include "passes/gradient/composition_rule.h"
#include "passes/op_facts.h"
#include "passes/reduction_depth.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::interleaved_attention {
namespace {

struct HeadsParam {
  std::int64_t heads = 0;
};

ParamSchema<HeadsParam> Schema() {
  return ParamSchema<HeadsParam>()
      .Required("heads", &HeadsParam::heads, "Number of attention heads.")
      .Range(1, 1 << 20);
}

// Which of the arrays side by side; of keys and values, kKey is the first.
enum class Part { kQuery = 0, kKey = 1, kValue = 2 };

struct Sizes {
  std::int64_t length, batch, heads, size;
  std::int64_t parts = 3;

  std::int64_t IndexOf(Part part) const { return static_cast<std::int64_t>(part) - (parts == 2 ? 1 : 0); }
};

Sizes SizesOf(const Node& node, const Shape& projections) {
  const std::int64_t heads = node.params<HeadsParam>().heads;
  if (projections.rank() != 3 || projections[2] % (3 * heads) != 0) {
    FailAt(node, "expected projections (length, batch, 3 * {} * size), got {}", heads, projections.ToString());
  }
  return {projections[0], projections[1], heads, projections[2] / (3 * heads)};
}

// The sizes of queries (parts 1) or keys and values (parts 2).
Sizes SizesOf(const Node& node, const char* name, const Shape& projections, std::int64_t parts) {
  const std::int64_t heads = node.params<HeadsParam>().heads;
  if (projections.rank() != 3 || projections[2] % (parts * heads) != 0) {
    FailAt(node, "expected {} (length, batch, {} * size), got {}", name, parts * heads, projections.ToString());
  }
  return {projections[0], projections[1], heads, projections[2] / (parts * heads), parts};
}

// One part as (batch * heads, length, size).
NDArray Extract(const NDArray& projections, const Sizes& s, Part part) {
  const NDArray split = projections.Reshaped(Shape{s.length, s.batch * s.heads, s.parts, s.size});
  NDArray out(projections.dtype(), Shape{s.batch * s.heads, s.length, s.size});
  const auto row = static_cast<std::size_t>(s.size * BytesOf(out.dtype()));
  for (std::int64_t l = 0; l < s.length; ++l) {
    for (std::int64_t b = 0; b < s.batch * s.heads; ++b) {
      const std::int64_t source = (l * s.batch * s.heads + b) * s.parts + s.IndexOf(part);
      std::copy_n(split.As<char>() + source * row, row,
                  out.As<char>() + static_cast<std::size_t>(b * s.length + l) * row);
    }
  }
  return out;
}

ValueId Extract(LowerContext& c, ValueId projections, const Sizes& s, Part part) {
  const auto split = c.Reshape(projections, Shape{s.length, s.batch * s.heads, s.parts, s.size});
  const auto slice = c.Emit(SliceSpec{{0, 0, s.IndexOf(part), 0}}, {split},
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

bool LowerQK(LowerContext& c) {
  const Sizes s = SizesOf(c.node(), c.in_type(0).shape);
  const auto keys = c.Permute(Extract(c, c.in(0), s, Part::kKey), {0, 2, 1});
  c.SetOut(
      0, c.Emit(MatMulSpec{static_cast<float>(Scale(s))}, {Extract(c, c.in(0), s, Part::kQuery), keys}, c.out_type(0)));
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

bool LowerValAtt(LowerContext& c) {
  const Sizes s = SizesOf(c.node(), c.in_type(0).shape);
  const auto heads = c.Emit(MatMulSpec{}, {c.in(1), Extract(c, c.in(0), s, Part::kValue)},
                            {c.out_type(0).dtype, Shape{s.batch * s.heads, s.length, s.size}});
  c.SetOut(0, c.Reshape(c.Permute(heads, {1, 0, 2}), c.out_type(0).shape));
  return true;
}

struct CrossSizes {
  Sizes queries, keys_values;
};

CrossSizes CrossSizesOf(const Node& node, const Shape& queries, const Shape& keys_values) {
  const CrossSizes s{SizesOf(node, "queries", queries, 1), SizesOf(node, "keys_values", keys_values, 2)};
  if (s.queries.batch != s.keys_values.batch || s.queries.size != s.keys_values.size) {
    FailAt(node, "expected queries and keys_values of one batch and one size, got {} and {}", queries.ToString(),
           keys_values.ToString());
  }
  return s;
}

void InferCrossQK(ShapeRelation& r) {
  if (!r.in(0).fully_known() || !r.in(1).fully_known()) return;
  const CrossSizes s = CrossSizesOf(r.node(), r.in(0), r.in(1));
  r.Out(0, Shape{s.queries.batch * s.queries.heads, s.queries.length, s.keys_values.length});
}

void CrossQKReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const CrossSizes s = CrossSizesOf(node, in[0].shape(), in[1].shape());
  const NDArray keys = Transposed(Extract(in[1], s.keys_values, Part::kKey), {0, 2, 1});
  MatMulReference(Extract(in[0], s.queries, Part::kQuery), keys, Scale(s.queries), out[0]);
}

bool LowerCrossQK(LowerContext& c) {
  const CrossSizes s = CrossSizesOf(c.node(), c.in_type(0).shape, c.in_type(1).shape);
  const auto heads = c.Reshape(c.in(0), Shape{s.queries.length, s.queries.batch * s.queries.heads, s.queries.size});
  const auto keys = c.Permute(Extract(c, c.in(1), s.keys_values, Part::kKey), {0, 2, 1});
  c.SetOut(
      0, c.Emit(MatMulSpec{static_cast<float>(Scale(s.queries))}, {c.Permute(heads, {1, 0, 2}), keys}, c.out_type(0)));
  return true;
}

// Attention has as many rows as there are queries.
void InferCrossValAtt(ShapeRelation& r) {
  if (!r.in(0).fully_known()) return;
  const Sizes s = SizesOf(r.node(), "keys_values", r.in(0), 2);
  r.In(1, Shape{s.batch * s.heads, kUnknownDim, s.length});
  r.Out(0, Shape{r.in(1)[1], s.batch, s.heads * s.size});
}

void CrossValAttReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Sizes s = SizesOf(node, "keys_values", in[0].shape(), 2);
  NDArray heads(out[0].dtype(), Shape{s.batch * s.heads, in[1].shape()[1], s.size});
  MatMulReference(in[1], Extract(in[0], s, Part::kValue), 1.0, heads);
  CopyElements(Transposed(heads, {1, 0, 2}), out[0]);
}

bool LowerCrossValAtt(LowerContext& c) {
  const Sizes s = SizesOf(c.node(), "keys_values", c.in_type(0).shape, 2);
  const auto heads = c.Emit(MatMulSpec{}, {c.in(1), Extract(c, c.in(0), s, Part::kValue)},
                            {c.out_type(0).dtype, Shape{s.batch * s.heads, c.in_type(1).shape[1], s.size}});
  c.SetOut(0, c.Reshape(c.Permute(heads, {1, 0, 2}), c.out_type(0).shape));
  return true;
}

// ---- as compositions of other operators, for gradients ----

Term Reshaped(const Term& x, const std::string& shape) { return x.context().Call("Reshape", {x}, {{"shape", shape}}); }
Term FirstTwoSwapped(const Term& x) { return x.context().Call("transpose", {x}, {{"axes", "(1, 0, 2)"}}); }

// Part `index` of those side by side, as (batch * heads, length, size).
Term PartOf(const Term& projections, std::int64_t heads, int parts, int index) {
  const Term split = Reshaped(projections, fmt::format("(0, 0, {}, {}, -1)", heads, parts));
  const AttrMap range{{"axis", "3"}, {"begin", std::to_string(index)}, {"end", std::to_string(index + 1)}};
  const Term part = parts == 1 ? split : projections.context().Call("slice_axis", {split}, range);
  return FirstTwoSwapped(Reshaped(part, "(0, -3, -1)"));
}

Term ComposeScores(const Term& queries, const Term& keys) {
  GradientContext& c = queries.context();
  return c.Call("batch_dot", {c.Call("_contrib_div_sqrt_dim", {queries}), keys}, {{"transpose_b", "True"}});
}

Term ComposeValues(const Term& attention, const Term& values, std::int64_t heads) {
  const Term mixed = FirstTwoSwapped(attention.context().Call("batch_dot", {attention, values}));
  return Reshaped(Reshaped(mixed, fmt::format("(0, -4, -1, {}, 0)", heads)), "(0, 0, -3)");
}

[[maybe_unused]] const auto kQK =
    RegisterOp<HeadsParam>("_contrib_interleaved_matmul_selfatt_qk")
        .Alias("_npx_interleaved_matmul_selfatt_qk")
        .Doc("Queries times keys over sqrt(size): (batch * heads, length, length).")
        .Params(Schema())
        .Inputs({"queries_keys_values"})
        .Set(ShapeRule{InferQK})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kAccumulates})
        .Set(ReductionDepth{
            [](const Node& node, std::span<const Shape> in, const Shape&) { return SizesOf(node, in[0]).size; }})
        .Set(CompositionRule([](GradientContext& c) {
          const auto heads = c.params<HeadsParam>().heads;
          return std::vector<Term>{ComposeScores(PartOf(c.in(0), heads, 3, 0), PartOf(c.in(0), heads, 3, 1))};
        }))
        .Set(ReferenceKernel{QKReference})
        .Set(LowerRule{LowerQK});

[[maybe_unused]] const auto kValAtt =
    RegisterOp<HeadsParam>("_contrib_interleaved_matmul_selfatt_valatt")
        .Alias("_npx_interleaved_matmul_selfatt_valatt")
        .Doc("Attention (batch * heads, length, length) times values: (length, batch, heads * size).")
        .Params(Schema())
        .Inputs({"queries_keys_values", "attention"})
        .Set(ShapeRule{InferValAtt})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kAccumulates})
        .Set(ReductionDepth{
            [](const Node& node, std::span<const Shape> in, const Shape&) { return SizesOf(node, in[0]).length; }})
        .Set(CompositionRule([](GradientContext& c) {
          const auto heads = c.params<HeadsParam>().heads;
          return std::vector<Term>{ComposeValues(c.in(1), PartOf(c.in(0), heads, 3, 2), heads)};
        }))
        .Set(ReferenceKernel{ValAttReference})
        .Set(LowerRule{LowerValAtt});

[[maybe_unused]] const auto kCrossQK =
    RegisterOp<HeadsParam>("_contrib_interleaved_matmul_encdec_qk")
        .Alias("_npx_interleaved_matmul_encdec_qk")
        .Doc("Queries times the keys of others over sqrt(size): (batch * heads, queries, keys).")
        .Params(Schema())
        .Inputs({"queries", "keys_values"})
        .Set(ShapeRule{InferCrossQK})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kAccumulates})
        .Set(ReductionDepth{[](const Node& node, std::span<const Shape> in, const Shape&) {
          return SizesOf(node, "queries", in[0], 1).size;
        }})
        .Set(CompositionRule([](GradientContext& c) {
          const auto heads = c.params<HeadsParam>().heads;
          return std::vector<Term>{ComposeScores(PartOf(c.in(0), heads, 1, 0), PartOf(c.in(1), heads, 2, 0))};
        }))
        .Set(ReferenceKernel{CrossQKReference})
        .Set(LowerRule{LowerCrossQK});

[[maybe_unused]] const auto kCrossValAtt =
    RegisterOp<HeadsParam>("_contrib_interleaved_matmul_encdec_valatt")
        .Alias("_npx_interleaved_matmul_encdec_valatt")
        .Doc("Attention (batch * heads, queries, keys) times the values of others: (queries, batch, heads * size).")
        .Params(Schema())
        .Inputs({"keys_values", "attention"})
        .Set(ShapeRule{InferCrossValAtt})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kAccumulates})
        .Set(ReductionDepth{[](const Node& node, std::span<const Shape> in, const Shape&) {
          return SizesOf(node, "keys_values", in[0], 2).length;
        }})
        .Set(CompositionRule([](GradientContext& c) {
          const auto heads = c.params<HeadsParam>().heads;
          return std::vector<Term>{ComposeValues(c.in(1), PartOf(c.in(0), heads, 2, 1), heads)};
        }))
        .Set(ReferenceKernel{CrossValAttReference})
        .Set(LowerRule{LowerCrossValAtt});

}  // namespace
}  // namespace amp::interleaved_attention
