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

namespace amp {
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

// One matrix b for all rows of a, or as many matrices on both sides. Others run on the reference kernel.
bool LowerMatMul(LowerContext& c) {
  const MatMulShapes s = MatMulShapesOf(c.node(), c.in_type(0).shape, c.in_type(1).shape);
  const int rank = s.out.rank();
  const DType dtype = c.out_type(0).dtype;
  const std::int64_t k = s.b[s.b.rank() - 2], n = s.out[rank - 1];
  Shape a = s.a, b = s.b, y = s.out;
  if (s.b.rank() == 2) {
    a = Shape{s.a.SizeOf(0, s.a.rank() - 1), k};
    y = Shape{a[0], n};
  } else if (s.a.rank() != rank || s.b.rank() != rank || s.a.SizeOf(0, rank - 2) != s.b.SizeOf(0, rank - 2) ||
             s.a.SizeOf(0, rank - 2) != s.batch.size()) {
    return false;
  }
  const auto out = EmitMatMul(c, {c.Reshape(c.in(0), a), c.Reshape(c.in(1), b)}, {dtype, y});
  c.SetOut(0, c.Reshape(out, c.out_type(0).shape));
  return true;
}

OpDefinition<NoParam> Register(const char* name, const char* doc) {
  return RegisterOp<NoParam>(name)
      .Doc(doc)
      .Inputs({"a", "b"})
      .Set(SameFloatDType())
      .Set(NoGradient{"gradients of NumPy's products are not implemented"})
      .Set(AmpFacts{Arithmetic::kAccumulates});
}

[[maybe_unused]] const auto kDot =
    Register("_npi_dot", "Sums over the last axis of a and the last but one of b; a scalar multiplies.")
        .Alias("_np_dot")
        .Set(ShapeRule{[](ShapeRelation& r) {
          if (r.in(0).fully_known() && r.in(1).fully_known()) r.Out(0, ShapesOf(r.node(), r.in(0), r.in(1)).out);
        }})
        .Set(ReferenceKernel{DotReference})
        .Set(LowerRule{LowerDot});

[[maybe_unused]] const auto kMatMul =
    Register("_npi_matmul", "Products of matrices along the last two axes; leading axes are broadcast.")
        .Set(ShapeRule{[](ShapeRelation& r) {
          if (!r.in(0).fully_known() || !r.in(1).fully_known()) return;
          r.Out(0, MatMulShapesOf(r.node(), r.in(0), r.in(1)).visible);
        }})
        .Set(SumsInTiles{})
        .Set(ReferenceKernel{MatMulReferenceOf})
        .Set(LowerRule{LowerMatMul});

}  // namespace
}  // namespace amp
