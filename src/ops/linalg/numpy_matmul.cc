// _npi_matmul: products of matrices along the last two axes.
#include <algorithm>

#include "ops/common/broadcast.h"
#include "ops/common/numeric.h"
#include "ops/common/operand_gradients.h"
#include "ops/common/partial_shape.h"
#include "ops/common/rules.h"
#include "ops/linalg/matmul.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/reduction_depth.h"
#include "passes/tiling_accumulation.h"
#include "program/lowering.h"
#include "program/reference.h"
#include "program/tiled_product.h"

namespace amp::numpy_matmul {
namespace {

// matmul: matrices along the last two axes, leading axes broadcast; a vector is a row of a or a column of b.
struct MatMulShapes {
  Shape a, b;     // as matrices
  Shape out;      // with the axes that vectors do not have
  Shape batch;    // of the output
  Shape visible;  // the output
};

MatMulShapes MatMulShapesOf(const Node& node, const Shape& a, const Shape& b) {
  const auto refuse = [&] { FailAt(node, "the shapes {} and {} do not fit", a.ToString(), b.ToString()); };
  if (a.rank() == 0 || b.rank() == 0) refuse();
  std::vector<std::int64_t> left = a.dims(), right = b.dims(), batch;
  if (left.size() == 1) left.insert(left.begin(), 1);
  if (right.size() == 1) right.push_back(1);
  if (left.back() != right[right.size() - 2]) refuse();
  const std::size_t rank = std::max(left.size(), right.size());
  const auto at = [&](const std::vector<std::int64_t>& dims, std::size_t i) {
    return i + dims.size() < rank ? 1 : dims[i + dims.size() - rank];
  };
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    const std::int64_t l = at(left, i), r = at(right, i);
    if (l != r && l != 1 && r != 1) refuse();
    batch.push_back(l == 1 ? r : l);
  }
  std::vector<std::int64_t> out = batch, visible = batch;
  out.insert(out.end(), {left[left.size() - 2], right.back()});
  if (a.rank() > 1) visible.push_back(left[left.size() - 2]);
  if (b.rank() > 1) visible.push_back(right.back());
  return {Shape(left), Shape(right), Shape(out), Shape(batch), Shape(visible)};
}

// The size that two leading sizes give, which broadcast.
std::int64_t BroadcastSize(std::int64_t a, std::int64_t b) {
  if (a > 1 || b == 1) return a;
  return b > 1 || a == 1 ? b : kUnknownDim;
}

// The size that is summed over is that of both, rows and columns are those of the output.
void InferPartialMatMul(ShapeRelation& r) {
  Shape a = r.in(0), b = r.in(1);
  if (a.rank() == 0 || b.rank() == 0) return;
  Agree(&a[a.rank() - 1], &b[std::max(0, b.rank() - 2)]);
  const int rank = std::max({a.rank(), b.rank(), 2}), visible = rank - (a.rank() == 1) - (b.rank() == 1);
  Shape out = r.out(0).rank_known() ? r.out(0) : Shape::OfRank(visible);
  if (out.rank() != visible) return;
  if (b.rank() > 1) Agree(&b[b.rank() - 1], &out[visible - 1]);
  if (a.rank() > 1) Agree(&a[a.rank() - 2], &out[visible - 1 - (b.rank() > 1)]);
  for (int i = 0; i < rank - 2; ++i) {
    const auto size = [&](const Shape& shape) { return i + 2 < shape.rank() ? shape[shape.rank() - 3 - i] : 1; };
    if (out[rank - 3 - i] < 0) out[rank - 3 - i] = BroadcastSize(size(a), size(b));
  }
  r.In(0, a);
  r.In(1, b);
  r.Out(0, out);
}

void InferMatMul(ShapeRelation& r) {
  if (!r.in(0).rank_known() || !r.in(1).rank_known()) return;
  if (!r.in(0).fully_known() || !r.in(1).fully_known()) return InferPartialMatMul(r);
  r.Out(0, MatMulShapesOf(r.node(), r.in(0), r.in(1)).visible);
}

// The matrices of `array`, of shape `matrices`, one for each place of the batch.
NDArray Expanded(const NDArray& array, const Shape& matrices, const Shape& batch) {
  const std::int64_t rows = matrices[matrices.rank() - 2], columns = matrices[matrices.rank() - 1];
  std::vector<std::int64_t> dims = batch.dims();
  dims.insert(dims.end(), {rows, columns});
  NDArray out(array.dtype(), Shape(dims));
  BroadcastElements(array.Reshaped(matrices), out);
  return out.Reshaped(Shape{batch.size(), rows, columns});
}

void MatMulReferenceOf(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const MatMulShapes s = MatMulShapesOf(node, in[0].shape(), in[1].shape());
  const int rank = s.out.rank();
  NDArray y = out[0].Reshaped(Shape{s.batch.size(), s.out[rank - 2], s.out[rank - 1]});
  ProductReference(node, Expanded(in[0], s.a, s.batch), Expanded(in[1], s.b, s.batch), {}, y);
}

// The shapes of a product of matrices.
struct ProductShapes {
  Shape a, b, y;
};

// One matrix b for all rows of a, or as many matrices on both sides. Others run on the reference kernel.
std::optional<ProductShapes> OperandsOf(const MatMulShapes& s) {
  const int rank = s.out.rank();
  if (s.b.rank() == 2) {
    const std::int64_t rows = s.a.SizeOf(0, s.a.rank() - 1);
    return ProductShapes{Shape{rows, s.b[0]}, s.b, Shape{rows, s.b[1]}};
  }
  const bool as_many = s.a.rank() == rank && s.b.rank() == rank && s.a.SizeOf(0, rank - 2) == s.b.SizeOf(0, rank - 2) &&
                       s.a.SizeOf(0, rank - 2) == s.batch.size();
  return as_many ? std::optional(ProductShapes{s.a, s.b, s.out}) : std::nullopt;
}

bool LowerMatMul(LowerContext& c) {
  const auto shapes = OperandsOf(MatMulShapesOf(c.node(), c.in_type(0).shape, c.in_type(1).shape));
  if (!shapes) return false;
  const TensorType type{c.out_type(0).dtype, shapes->y};
  const auto out = EmitMatMul(c, {c.Reshape(c.in(0), shapes->a), c.Reshape(c.in(1), shapes->b)}, type);
  c.SetOut(0, c.Reshape(out, c.out_type(0).shape));
  return true;
}

// ---- gradients: of products y (B, M, N) = a (B, M, K) b (B, K, N) ----

NDArray TransposedMatrices(const NDArray& matrices) { return Transposed(matrices, {0, 2, 1}); }

// Adds up the matrices that were broadcast.
void SumMatrices(const NDArray& matrices, const Shape& batch, const Shape& shape, NDArray& out) {
  std::vector<std::int64_t> dims = batch.dims();
  dims.insert(dims.end(), matrices.shape().dims().end() - 2, matrices.shape().dims().end());
  const std::vector<double> values = Numbers<double>(matrices);
  std::vector<double> sums(static_cast<std::size_t>(out.size()), 0);
  BroadcastIndex place(shape, Shape(dims));
  for (const double value : values) sums[place.Next()] += value;
  Store(sums, out);
}

void BackwardMatMulReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const MatMulShapes s = MatMulShapesOf(node, in[1].shape(), in[2].shape());
  const int rank = s.out.rank();
  const NDArray a = Expanded(in[1], s.a, s.batch), b = Expanded(in[2], s.b, s.batch);
  const NDArray g = in[0].Reshaped(Shape{s.batch.size(), s.out[rank - 2], s.out[rank - 1]});
  const DType wide = in[0].dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  const auto product = [&](const NDArray& x, const NDArray& y) {
    NDArray all(wide, Shape{x.shape()[0], x.shape()[1], y.shape()[2]});
    MatMulReference(x, y, 1.0, all);
    return all;
  };
  if (out[0].defined()) SumMatrices(product(g, TransposedMatrices(b)), s.batch, s.a, out[0]);
  if (out[1].defined()) SumMatrices(product(TransposedMatrices(a), g), s.batch, s.b, out[1]);
}

// The gradients of both operands, matrices or stacks of as many of them, as two products.
void EmitGradients(LowerContext& c, ValueId g, ValueId a, ValueId b) {
  const auto swapped = [&](ValueId v) {
    return c.Permute(v, c.ShapeOf(v).rank() == 2 ? std::vector{1, 0} : std::vector{0, 2, 1});
  };
  const auto set = [&](int i, ValueId product) { c.SetOut(i, c.Reshape(product, c.out_type(i).shape)); };
  if (c.is_read(0)) set(0, c.Emit(MatMulSpec{}, {g, swapped(b)}, {c.out_type(0).dtype, c.ShapeOf(a)}));
  if (c.is_read(1)) set(1, c.Emit(MatMulSpec{}, {swapped(a), g}, {c.out_type(1).dtype, c.ShapeOf(b)}));
}

bool LowerBackwardMatMul(LowerContext& c) {
  const MatMulShapes s = MatMulShapesOf(c.node(), c.in_type(1).shape, c.in_type(2).shape);
  const auto operands = OperandsOf(s);
  if (!operands) return false;
  const auto stack = [](const Shape& shape) {
    return shape.rank() == 2
               ? shape
               : Shape{shape.SizeOf(0, shape.rank() - 2), shape[shape.rank() - 2], shape[shape.rank() - 1]};
  };
  EmitGradients(c, c.Reshape(c.in(0), stack(operands->y)), c.Reshape(c.in(1), stack(operands->a)),
                c.Reshape(c.in(2), stack(operands->b)));
  return true;
}

[[maybe_unused]] const auto kBackward =
    RegisterOp<NoParam>("_backward_npi_matmul")
        .Doc("The gradients of the operands of _npi_matmul.")
        .Inputs({"gradient", "a", "b"})
        .Outputs({"a", "b"})
        .VisibleOutputs([](const NoParam&) { return 2; })
        .Set(GradientsOfOperands(InferMatMul))
        .Set(SameFloatDType())
        .Set(NoGradient{"second derivatives of NumPy's products are not implemented"})
        .Set(AmpFacts{Arithmetic::kAccumulates})
        .Set(ReferenceKernel{BackwardMatMulReference})
        .Set(LowerRule{LowerBackwardMatMul});

[[maybe_unused]] const auto kCard =
    RegisterOp<NoParam>("_npi_matmul")
        .Doc("Products of matrices along the last two axes; leading axes are broadcast.")
        .Inputs({"a", "b"})
        .Set(ShapeRule{InferMatMul})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kAccumulates})
        .Set(ReductionDepth{
            [](const Node&, std::span<const Shape> in, const Shape&) { return in[0][in[0].rank() - 1]; }})
        .Set(GradientByOperands("_backward_npi_matmul"))
        .Set(SumsInTiles{})
        .Set(ReferenceKernel{MatMulReferenceOf})
        .Set(LowerRule{LowerMatMul});

}  // namespace
}  // namespace amp::numpy_matmul
