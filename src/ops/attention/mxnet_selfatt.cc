// The products of self-attention that MXNet 2.x's oneDNN backend fuses (passes/fuse_mxnet_attention.h): no subgraph is
// kept.
//
// Projections are (batch, length, heads * size); those that are not split yet hold queries, keys and values side by
// side: (batch, length, 3 * heads * size).
#include <algorithm>

#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/linalg/matmul.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/reduction_depth.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::mxnet_selfatt {
namespace {

struct AttentionParam {
  std::int64_t heads = 0;
  bool quantized = false;
  std::optional<DType> enabled_float_output;
};

ParamSchema<AttentionParam> Schema() {
  return ParamSchema<AttentionParam>()
      .Required("heads", &AttentionParam::heads, "Number of attention heads.")
      .Range(1, 1 << 20)
      .Optional("quantized", &AttentionParam::quantized, "8-bit arithmetic: not supported.")
      .Optional("enabled_float_output", &AttentionParam::enabled_float_output,
                "Dtype of the output, if not the inputs'.")
      .Ignored("min_calib_range")
      .Ignored("max_calib_range");
}

void Validate(AttentionParam& p) {
  if (p.quantized) throw UnsupportedError("quantized=True (8-bit arithmetic) is not supported");
  if (p.enabled_float_output && !IsFloat(*p.enabled_float_output)) {
    Throw<GraphError>("attribute enabled_float_output: expected a float dtype, got {}",
                      NameOf(*p.enabled_float_output));
  }
}

// One of `parts` projections that lie side by side.
struct Projection {
  int input, parts, part;
};

struct Sizes {
  std::int64_t batch, length, heads, size;
};

Sizes SizesOf(const Node& node, const Shape& shape, int parts) {
  const std::int64_t heads = node.params<AttentionParam>().heads;
  if (shape.rank() != 3 || shape[2] % (parts * heads) != 0) {
    FailAt(node, "expected projections (batch, length, {} * size), got {}", parts * heads, shape.ToString());
  }
  return {shape[0], shape[1], heads, shape[2] / (parts * heads)};
}

// The matrices (batch, heads, length, size) of a projection.
NDArray Matrices(const Node& node, std::span<const NDArray> in, const Projection& p) {
  const NDArray& array = in[p.input];
  const Sizes s = SizesOf(node, array.shape(), p.parts);
  NDArray part(array.dtype(), Shape{s.batch, s.length, s.heads, s.size});
  const auto row = static_cast<std::size_t>(s.heads * s.size) * BytesOf(array.dtype());
  for (std::int64_t i = 0; i < s.batch * s.length; ++i) {
    std::copy_n(array.As<char>() + static_cast<std::size_t>(i * p.parts + p.part) * row, row,
                part.As<char>() + i * row);
  }
  return Transposed(part, {0, 2, 1, 3});
}

ValueId Matrices(LowerContext& c, const Projection& p) {
  const Sizes s = SizesOf(c.node(), c.in_type(p.input).shape, p.parts);
  ValueId part = c.in(p.input);
  if (p.parts > 1) {
    const std::int64_t width = s.heads * s.size;
    part = c.Reshape(part, Shape{s.batch, s.length, p.parts, width});
    part = c.Emit(SliceSpec{{0, 0, p.part, 0}}, {part}, {c.DTypeOf(part), Shape{s.batch, s.length, 1, width}});
  }
  return c.Permute(c.Reshape(part, Shape{s.batch, s.length, s.heads, s.size}), {0, 2, 1, 3});
}

// (batch * heads, ...) for the kernel of matrix products.
NDArray Flat(const NDArray& matrices) {
  const Shape& s = matrices.shape();
  return matrices.Reshaped(Shape{s[0] * s[1], s[2], s[3]});
}

void InferDType(DTypeRelation& r) {
  std::vector<int> inputs;
  for (int i = 0; i < r.num_inputs(); ++i) inputs.push_back(i);
  const auto& dtype = r.node().params<AttentionParam>().enabled_float_output;
  r.Same(inputs, dtype ? std::vector<int>() : std::vector<int>{0});
  r.InIsFloat(0);
  if (dtype) r.Out(0, *dtype);
}

// ---- scores: queries times keys, not scaled ----

struct Operands {
  Projection queries, keys;
};
constexpr Operands kTwoInputs{{0, 1, 0}, {1, 1, 0}}, kOneInput{{0, 3, 0}, {0, 3, 1}};

void InferScores(const Operands& operands, ShapeRelation& r) {
  for (int i = 0; i < r.num_inputs(); ++i) {
    if (!r.in(i).fully_known()) return;
  }
  const Sizes q = SizesOf(r.node(), r.in(operands.queries.input), operands.queries.parts);
  const Sizes k = SizesOf(r.node(), r.in(operands.keys.input), operands.keys.parts);
  if (q.batch != k.batch || q.size != k.size) {
    FailAt(r.node(), "expected queries and keys of one batch and width, got {} and {}", r.in(0).ToString(),
           r.in(1).ToString());
  }
  r.Out(0, Shape{q.batch, q.heads, q.length, k.length});
}

void ScoresReference(const Operands& operands, const Node& node, std::span<const NDArray> in, NDArray& out) {
  const NDArray keys = Transposed(Flat(Matrices(node, in, operands.keys)), {0, 2, 1});
  NDArray scores = Flat(out);
  MatMulReference(Flat(Matrices(node, in, operands.queries)), keys, 1.0, scores);
}

bool LowerScores(const Operands& operands, LowerContext& c) {
  const auto keys = c.Permute(Matrices(c, operands.keys), {0, 1, 3, 2});
  c.SetOut(0, c.Emit(MatMulSpec{}, {Matrices(c, operands.queries), keys}, c.out_type(0)));
  return true;
}

OpDefinition<AttentionParam> Register(const char* name, const char* doc, std::vector<std::string> inputs) {
  auto op = RegisterOp<AttentionParam>(name);
  op.Doc(doc)
      .Params(Schema(), Validate)
      .Inputs(std::move(inputs))
      .Set(DTypeRule{InferDType})
      .Set(NoGradient{"MXNet has none"})
      .Set(AmpFacts{Arithmetic::kAccumulates});
  return op;
}

OpDefinition<AttentionParam> Register(const char* name, const char* doc, std::vector<std::string> inputs,
                                      const Operands& operands) {
  auto op = Register(name, doc, std::move(inputs));
  op.Set(ShapeRule{[&operands](ShapeRelation& r) { InferScores(operands, r); }})
      .Set(ReductionDepth{[&operands](const Node& node, std::span<const Shape> in, const Shape&) {
        return SizesOf(node, in[operands.queries.input], operands.queries.parts).size;
      }})
      .Set(ReferenceKernel{[&operands](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
        ScoresReference(operands, node, in, out[0]);
      }})
      .Set(LowerRule{[&operands](LowerContext& c) { return LowerScores(operands, c); }});
  return op;
}

[[maybe_unused]] const auto kScores =
    Register("_sg_onednn_selfatt_qk", "Queries times keys, per head: (batch, heads, length, length).",
             {"queries", "keys"}, kTwoInputs);
[[maybe_unused]] const auto kScoresOfSplit =
    Register("_sg_onednn_selfatt_qk_split", "Queries times keys, per head: (batch, heads, length, length).",
             {"queries_keys_values"}, kOneInput);

// ---- attention times values ----

constexpr Projection kValues{1, 3, 2};

void InferValues(ShapeRelation& r) {
  if (!r.in(1).fully_known()) return;
  const Sizes s = SizesOf(r.node(), r.in(1), kValues.parts);
  const std::int64_t length = r.in(0).rank_known() && r.in(0).rank() == 4 ? r.in(0)[2] : kUnknownDim;
  r.In(0, Shape{s.batch, s.heads, length, s.length});
  r.Out(0, Shape{s.batch, length, s.heads * s.size});
}

void ValuesReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const NDArray values = Matrices(node, in, kValues);
  const Shape &a = in[0].shape(), &v = values.shape();
  NDArray heads(out[0].dtype(), Shape{a[0], a[1], a[2], v[3]});
  NDArray flat = Flat(heads);
  MatMulReference(Flat(in[0]), Flat(values), 1.0, flat);
  CopyElements(Transposed(heads, {0, 2, 1, 3}), out[0]);
}

bool LowerValues(LowerContext& c) {
  const Shape& a = c.in_type(0).shape;
  const Sizes s = SizesOf(c.node(), c.in_type(1).shape, kValues.parts);
  const auto heads = c.Emit(MatMulSpec{}, {c.in(0), Matrices(c, kValues)},
                            {c.out_type(0).dtype, Shape{s.batch, s.heads, a[2], s.size}});
  c.SetOut(0, c.Reshape(c.Permute(heads, {0, 2, 1, 3}), c.out_type(0).shape));
  return true;
}

[[maybe_unused]] const auto kWeightedValues =
    Register("_sg_onednn_selfatt_valatt", "Attention (batch, heads, length, length) times values, heads side by side.",
             {"attention", "queries_keys_values"})
        .Set(ShapeRule{InferValues})
        .Set(ReductionDepth{[](const Node& node, std::span<const Shape> in, const Shape&) {
          return SizesOf(node, in[1], kValues.parts).length;
        }})
        .Set(ReferenceKernel{ValuesReference})
        .Set(LowerRule{LowerValues});

}  // namespace
}  // namespace amp::mxnet_selfatt
