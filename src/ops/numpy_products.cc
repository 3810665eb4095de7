// NumPy's products: _npi_dot and _npi_matmul.
#include <algorithm>

#include "ops/broadcast.h"
#include "ops/matmul.h"
#include "ops/numeric.h"
#include "ops/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/tiling_accumulation.h"
#include "program/lowering.h"
#include "program/reference.h"
#include "program/tiled_product.h"

namespace amp::numpy_products {
namespace {

// dot as a product of matrices (m, k) and (k, n): the last axis of a meets the last but one of b, or the only one of
// a vector; a scalar multiplies.
struct DotShapes {
  std::vector<int> b_axes;  // permutation before the product
  std::int64_t m = 1, k = 1, n = 1;
  Shape out;
};

DotShapes ShapesOf(const Node& node, const Shape& a, const Shape& b) {
  DotShapes s;
  for (int i = 0; i < b.rank(); ++i) s.b_axes.push_back(i);
  if (a.rank() == 0 || b.rank() == 0) {
    s.m = a.size();
    s.n = b.size();
    s.out = a.rank() == 0 ? b : a;
    return s;
  }
  const int inner = std::max(0, b.rank() - 2);
  std::rotate(s.b_axes.begin(), s.b_axes.begin() + inner, s.b_axes.begin() + inner + 1);
  s.k = a[a.rank() - 1];
  if (b[inner] != s.k) {
    FailAt(node, "expected a and b with a common inner size, got {} and {}", a.ToString(), b.ToString());
  }
  std::vector<std::int64_t> dims(a.dims().begin(), a.dims().end() - 1);
  for (int i = 1; i < b.rank(); ++i) dims.push_back(b[s.b_axes[i]]);
  s.m = a.SizeOf(0, a.rank() - 1);
  for (int i = 1; i < b.rank(); ++i) s.n *= b[s.b_axes[i]];
  s.out = Shape(dims);
  return s;
}

void InferDot(ShapeRelation& r) {
  if (r.in(0).fully_known() && r.in(1).fully_known()) r.Out(0, ShapesOf(r.node(), r.in(0), r.in(1)).out);
}

Shape Permuted(const Shape& shape, const std::vector<int>& axes) {
  std::vector<std::int64_t> dims;
  for (const int axis : axes) dims.push_back(shape[axis]);
  return Shape(dims);
}

std::vector<int> Inverse(const std::vector<int>& axes) {
  std::vector<int> inverse(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) inverse[static_cast<std::size_t>(axes[i])] = static_cast<int>(i);
  return inverse;
}

void DotReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const DotShapes s = ShapesOf(node, in[0].shape(), in[1].shape());
  NDArray y = out[0].Reshaped(Shape{1, s.m, s.n});
  MatMulReference(in[0].Reshaped(Shape{1, s.m, s.k}), Transposed(in[1], s.b_axes).Reshaped(Shape{1, s.k, s.n}), 1.0, y);
}

bool LowerDot(LowerContext& c) {
  const DotShapes s = ShapesOf(c.node(), c.in_type(0).shape, c.in_type(1).shape);
  const auto a = c.Reshape(c.in(0), Shape{s.m, s.k});
  const auto b = c.Reshape(c.Permute(c.in(1), s.b_axes), Shape{s.k, s.n});
  const auto out = c.Emit(MatMulSpec{}, {a, b}, {c.out_type(0).dtype, Shape{s.m, s.n}});
  c.SetOut(0, c.Reshape(out, c.out_type(0).shape));
  return true;
}

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

void InferMatMul(ShapeRelation& r) {
  if (!r.in(0).fully_known() || !r.in(1).fully_known()) return;
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

void BackwardDotReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const DotShapes s = ShapesOf(node, in[1].shape(), in[2].shape());
  const NDArray g = in[0].Reshaped(Shape{1, s.m, s.n}), a = in[1].Reshaped(Shape{1, s.m, s.k});
  if (out[0].defined()) {
    const NDArray b = Transposed(in[2], s.b_axes).Reshaped(Shape{1, s.k, s.n});
    NDArray result = out[0].Reshaped(Shape{1, s.m, s.k});
    MatMulReference(g, TransposedMatrices(b), 1.0, result);
  }
  if (!out[1].defined()) return;
  NDArray turned(out[1].dtype(), Permuted(in[2].shape(), s.b_axes));
  NDArray result = turned.Reshaped(Shape{1, s.k, s.n});
  MatMulReference(TransposedMatrices(a), g, 1.0, result);
  CopyElements(Transposed(turned, Inverse(s.b_axes)), out[1]);
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
void EmitGradients(LowerContext& c, ValueId g, ValueId a, ValueId b, const std::vector<int>& b_axes) {
  const auto swapped = [&](ValueId v) {
    return c.Permute(v, c.ShapeOf(v).rank() == 2 ? std::vector{1, 0} : std::vector{0, 2, 1});
  };
  const auto set = [&](int i, ValueId product) { c.SetOut(i, c.Reshape(product, c.out_type(i).shape)); };
  if (c.is_read(0)) set(0, c.Emit(MatMulSpec{}, {g, swapped(b)}, {c.out_type(0).dtype, c.ShapeOf(a)}));
  if (!c.is_read(1)) return;
  const ValueId product = c.Emit(MatMulSpec{}, {swapped(a), g}, {c.out_type(1).dtype, c.ShapeOf(b)});
  if (b_axes.empty()) return set(1, product);
  set(1, c.Permute(c.Reshape(product, Permuted(c.in_type(2).shape, b_axes)), Inverse(b_axes)));
}

bool LowerBackwardDot(LowerContext& c) {
  const DotShapes s = ShapesOf(c.node(), c.in_type(1).shape, c.in_type(2).shape);
  EmitGradients(c, c.Reshape(c.in(0), Shape{s.m, s.n}), c.Reshape(c.in(1), Shape{s.m, s.k}),
                c.Reshape(c.Permute(c.in(2), s.b_axes), Shape{s.k, s.n}), s.b_axes);
  return true;
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
                c.Reshape(c.in(2), stack(operands->b)), {});
  return true;
}

OpDefinition<NoParam> RegisterBackward(const char* name, const char* doc, void (*forward)(ShapeRelation&)) {
  return RegisterOp<NoParam>(name)
      .Doc(doc)
      .Inputs({"gradient", "a", "b"})
      .Outputs({"a", "b"})
      .VisibleOutputs([](const NoParam&) { return 2; })
      .Set(ShapeRule{[forward](ShapeRelation& r) {
        for (int i = 0; i < 2; ++i) {
          r.In(i + 1, r.out(i));
          r.Out(i, r.in(i + 1));
        }
        std::vector<Shape> in{r.in(1), r.in(2)}, out(1);
        ShapeRelation relation(r.node(), in, out);
        forward(relation);
        r.In(0, out[0]);
      }})
      .Set(SameFloatDType())
      .Set(NoGradient{"second derivatives of NumPy's products are not implemented"})
      .Set(AmpFacts{Arithmetic::kAccumulates});
}

[[maybe_unused]] const auto kBackwardDot =
    RegisterBackward("_backward_npi_dot", "The gradients of the operands of _npi_dot.", InferDot)
        .Set(ReferenceKernel{BackwardDotReference})
        .Set(LowerRule{LowerBackwardDot});

[[maybe_unused]] const auto kBackwardMatMul =
    RegisterBackward("_backward_npi_matmul", "The gradients of the operands of _npi_matmul.", InferMatMul)
        .Set(ReferenceKernel{BackwardMatMulReference})
        .Set(LowerRule{LowerBackwardMatMul});

GradientRule GradientBy(const char* op) {
  return {[op](GradientContext& c) {
    const std::vector<Term> found = c.CallAll(op, {c.gradient(), c.in(0), c.in(1)});
    c.Set(0, found[0]);
    c.Set(1, found[1]);
  }};
}

OpDefinition<NoParam> Register(const char* name, const char* doc) {
  return RegisterOp<NoParam>(name)
      .Doc(doc)
      .Inputs({"a", "b"})
      .Set(SameFloatDType())
      .Set(AmpFacts{Arithmetic::kAccumulates});
}

[[maybe_unused]] const auto kDot =
    Register("_npi_dot", "Sums over the last axis of a and the last but one of b; a scalar multiplies.")
        .Alias("_np_dot")
        .Set(ShapeRule{InferDot})
        .Set(GradientBy("_backward_npi_dot"))
        .Set(ReferenceKernel{DotReference})
        .Set(LowerRule{LowerDot});

[[maybe_unused]] const auto kMatMul =
    Register("_npi_matmul", "Products of matrices along the last two axes; leading axes are broadcast.")
        .Set(ShapeRule{InferMatMul})
        .Set(GradientBy("_backward_npi_matmul"))
        .Set(SumsInTiles{})
        .Set(ReferenceKernel{MatMulReferenceOf})
        .Set(LowerRule{LowerMatMul});

}  // namespace
}  // namespace amp::numpy_products
