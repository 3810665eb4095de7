// FullyConnected: a matrix product with a weight matrix, plus bias.

#include "kernels/threads/parallel.h"
#include "ops/common/dot.h"
#include "ops/common/matrix_gradients.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "ops/linalg/matmul.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/infer.h"
#include "passes/op_facts.h"
#include "passes/optimize/fold_batch_norm.h"
#include "passes/tiling_accumulation.h"
#include "program/lowering.h"
#include "program/reference.h"
#include "program/tiled_product.h"

namespace amp::fully_connected {
namespace {

struct FullyConnectedParam {
  std::int64_t num_hidden = 0;
  bool no_bias = false;
  bool flatten = true;
};

ParamSchema<FullyConnectedParam> Schema() {
  return ParamSchema<FullyConnectedParam>()
      .Required("num_hidden", &FullyConnectedParam::num_hidden, "Number of output features.")
      .Range(1, 2147483647)
      .Optional("no_bias", &FullyConnectedParam::no_bias, "There is no bias input.")
      .Optional("flatten", &FullyConnectedParam::flatten,
                "All axes but the first are features; otherwise only the last one is.");
}

// Axes [0, RowAxes) of the data are rows, the others features.
int RowAxes(const FullyConnectedParam& p, const Shape& data) { return p.flatten ? 1 : data.rank() - 1; }

void InferShape(ShapeRelation& r) {
  if (!r.in(0).rank_known()) return;  // as in MXNet: programs look whether shapes of weights are known
  const auto& p = r.node().params<FullyConnectedParam>();
  r.In(1, Shape{p.num_hidden, kUnknownDim});
  if (!p.no_bias) r.In(2, Shape{p.num_hidden});
  const Shape data = r.in(0);
  if (data.rank() == 0) FailAt(r.node(), "expected data of rank 1 or more, got a scalar");
  const int rows = RowAxes(p, data);
  bool features_known = true;
  for (int i = rows; i < data.rank(); ++i) features_known = features_known && data[i] >= 0;
  if (features_known) {
    const std::int64_t features = data.SizeOf(rows, data.rank());
    if (r.in(1)[1] >= 0 && r.in(1)[1] != features) {
      FailAt(r.node(), "expected weight with {} input features, got {} (weight shape {}, data shape {})", features,
             r.in(1)[1], r.in(1).ToString(), data.ToString());
    }
    r.In(1, Shape{p.num_hidden, features});
  }
  Shape out = Shape::OfRank(rows + 1);
  for (int i = 0; i < rows; ++i) out[i] = data[i];
  out[rows] = p.num_hidden;
  r.Out(0, out);
  // Backwards: the number of rows, and a single axis of features.
  Shape learnt = Shape::OfRank(data.rank());
  for (int i = 0; i < rows; ++i) learnt[i] = r.out(0)[i];
  if (rows + 1 == data.rank()) learnt[rows] = r.in(1)[1];
  r.In(0, learnt);
}

void TiledReference(const Node& node, std::span<const NDArray> in, NDArray& out) {
  const auto& p = node.params<FullyConnectedParam>();
  const std::int64_t features = in[1].shape()[1], rows = out.size() / p.num_hidden;
  NDArray y = out.Reshaped(Shape{1, rows, p.num_hidden});
  ProductReference(node, in[0].Reshaped(Shape{1, rows, features}),
                   Transposed(in[1], {1, 0}).Reshaped(Shape{1, features, p.num_hidden}), p.no_bias ? NDArray() : in[2],
                   y);
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  if (TilingOf(node)) return TiledReference(node, in, out[0]);
  const auto& p = node.params<FullyConnectedParam>();
  WithFloatType(in[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t features = in[1].shape()[1];
    const std::int64_t rows = out[0].size() / p.num_hidden;
    const std::vector<T> x = Numbers<T>(in[0]), w = Numbers<T>(in[1]);
    const std::vector<T> b = p.no_bias ? std::vector<T>(p.num_hidden, T{0}) : Numbers<T>(in[2]);
    std::vector<T> y(out[0].size());
    kernels::ParallelFor(p.num_hidden, 1, [&](std::int64_t h) {
      for (std::int64_t n = 0; n < rows; ++n) {
        y[n * p.num_hidden + h] = Dot(x.data() + n * features, w.data() + h * features, features) + b[h];
      }
    });
    Store(y, out[0]);
  });
}

bool Lower(LowerContext& c) {
  const auto& p = c.node().params<FullyConnectedParam>();
  const std::int64_t features = c.in_type(1).shape[1];
  const std::int64_t rows = c.out_type(0).shape.size() / p.num_hidden;
  std::vector<ValueId> inputs{c.Reshape(c.in(0), Shape{rows, features}), c.in(1)};
  if (!p.no_bias) inputs.push_back(c.Bias(2));
  const auto out = EmitInnerProduct(c, inputs, {c.out_type(0).dtype, Shape{rows, p.num_hidden}});
  c.SetOut(0, c.Reshape(out, c.out_type(0).shape));
  return true;
}

// The gradients, by matrices; the gradient's rows are those of the data.
void Gradient(GradientContext& c) {
  const bool flatten = c.params<FullyConnectedParam>().flatten;
  const Term g = flatten ? c.gradient() : RowsOf(c.gradient());
  const Term x = flatten ? c.Call("Flatten", {c.in(0)}) : RowsOf(c.in(0));
  if (c.is_asked(0)) c.Set(0, ReshapeLike(c.Call("dot", {g, c.in(1)}), c.in(0)));
  if (c.is_asked(1)) c.Set(1, c.Call("dot", {g, x}, {{"transpose_a", "True"}}));
  if (c.num_inputs() > 2) c.Set(2, SumLike(g, c.in(2)));
}

[[maybe_unused]] const auto kCard =
    RegisterOp<FullyConnectedParam>("FullyConnected")
        .Alias("_sparse_FullyConnected")
        .Alias("_npx_fully_connected")
        .Doc(
            "data (N, ...) flattened to (N, K) times weight (num_hidden, K) transposed, plus bias (num_hidden).\n"
            "With flatten=False the data is (..., K) and the output (..., num_hidden).")
        .Params(Schema())
        .Inputs([](const FullyConnectedParam& p) { return DataWeightBias(p.no_bias); })
        .Set(ShapeRule{InferShape})
        .Set(DataWeightBiasDType())
        .Set(AmpFacts{Arithmetic::kAccumulates, DataWeightBiasRoles()})
        .Set(RangeRule{[](const RangeQuery& q, int) {
          const Shape& weight = q.in_types[1]->shape;
          return SumOfProducts(q, weight.fully_known() && weight.rank() == 2 ? static_cast<double>(weight[1]) : 0);
        }})
        .Set(FoldTarget{[](const Node&, int rank) { return rank - 1; }})
        .Set(FoldReader{[](const Node& node, int rank) -> std::optional<FoldReader::Use> {
          return FoldReader::Use{rank - 1, 1, 1, node.params<FullyConnectedParam>().flatten};
        }})
        .Set(SumsInTiles{})
        .Set(GradientRule{Gradient})
        .Set(ReferenceKernel{Reference})
        .Set(LowerRule{Lower});

}  // namespace
}  // namespace amp::fully_connected
