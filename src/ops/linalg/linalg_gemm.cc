// _linalg_gemm2 and _linalg_gemm: products of matrices that lie along one axis and the last, and sums with them.
// _linalg_syrk: products of matrices with their transpose.
#include <algorithm>

#include "ops/common/matrices.h"
#include "ops/common/matrix_gradients.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/linalg/matmul.h"
#include "passes/gradient/composition_rule.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/reduction_depth.h"
#include "program/lowering.h"
#include "program/permutation.h"
#include "program/reference.h"

namespace amp::linalg_gemm {
namespace {

struct GemmParam {
  bool transpose_a = false;
  bool transpose_b = false;
  double alpha = 1;
  double beta = 1;  // of _linalg_gemm
  std::int64_t axis = -2;
};

ParamSchema<GemmParam> Schema() {
  return ParamSchema<GemmParam>()
      .Optional("transpose_a", &GemmParam::transpose_a, "Use the transpose of A.")
      .Optional("transpose_b", &GemmParam::transpose_b, "Use the transpose of B.")
      .Optional("alpha", &GemmParam::alpha, "ComputeType the product.")
      .Optional("axis", &GemmParam::axis, "The axis of the matrices' rows; columns are the last axis.");
}

// The axis of the matrices' rows; that of the columns is the last.
int RowAxis(const Node& node, const Shape& a) {
  const int axis = RequireAxis(node, node.params<GemmParam>().axis, a);
  if (axis == a.rank() - 1) FailAt(node, "axis {} holds the columns, not the rows", axis);
  return axis;
}

std::int64_t Depth(const Node& node, std::span<const Shape> in, const Shape&) {
  return in[0][node.params<GemmParam>().transpose_a ? RowAxis(node, in[0]) : in[0].rank() - 1];
}

void InferShape(ShapeRelation& r) {
  if (!r.in(0).rank_known() || !r.in(1).rank_known()) return;
  const auto& p = r.node().params<GemmParam>();
  const Shape &a = r.in(0), &b = r.in(1);
  if (a.rank() < 2 || b.rank() != a.rank()) {
    FailAt(r.node(), "expected arrays of one rank, 2 or more, got {} and {}", a.ToString(), b.ToString());
  }
  const int row = RowAxis(r.node(), a), column = a.rank() - 1;
  Shape out = a;
  const std::int64_t k_a = a[p.transpose_a ? row : column], k_b = b[p.transpose_b ? column : row];
  bool clash = k_a >= 0 && k_b >= 0 && k_a != k_b;
  for (int i = 0; i < column; ++i) {
    if (i == row) continue;
    clash = clash || (a[i] >= 0 && b[i] >= 0 && a[i] != b[i]);
    if (out[i] < 0) out[i] = b[i];
  }
  if (clash) FailAt(r.node(), "the shapes {} and {} do not fit a product of matrices", a.ToString(), b.ToString());
  out[row] = a[p.transpose_a ? column : row];
  out[column] = b[p.transpose_b ? row : column];
  r.Out(0, out);
}

// The row axis moves behind the others but the last, and both are swapped to transpose.
std::vector<int> Order(int rank, int row, bool transpose) {
  std::vector<int> axes;
  for (int i = 0; i + 1 < rank; ++i) {
    if (i != row) axes.push_back(i);
  }
  axes.insert(axes.end(), {row, rank - 1});
  if (transpose) std::swap(axes[rank - 2], axes[rank - 1]);
  return axes;
}

// The permutation that undoes Order(rank, row, false).
std::vector<int> Back(int rank, int row) {
  const std::vector<int> order = Order(rank, row, false);
  std::vector<int> back(order.size());
  for (int i = 0; i < rank; ++i) back[order[i]] = i;
  return back;
}

NDArray Matrices(const NDArray& array, const std::vector<int>& order) {
  const NDArray turned = Transposed(array, order);
  const Shape& s = turned.shape();
  return turned.Reshaped(Shape{s.SizeOf(0, s.rank() - 2), s[s.rank() - 2], s[s.rank() - 1]});
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<GemmParam>();
  const Shape& shape = out[0].shape();
  const int rank = shape.rank(), row = RowAxis(node, in[0].shape());
  const NDArray a = Matrices(in[0], Order(rank, row, p.transpose_a)),
                b = Matrices(in[1], Order(rank, row, p.transpose_b));
  NDArray y(out[0].dtype(), Shape{a.shape()[0], a.shape()[1], b.shape()[2]});
  MatMulReference(a, b, p.alpha, y);
  CopyElements(Transposed(y.Reshaped(PermutedShape(shape, Order(rank, row, false))), Back(rank, row)), out[0]);
}

bool Lower(LowerContext& c) {
  const auto& p = c.node().params<GemmParam>();
  const TensorType& out = c.out_type(0);
  const int rank = out.shape.rank(), row = RowAxis(c.node(), c.in_type(0).shape);
  const auto a = c.Permute(c.in(0), Order(rank, row, p.transpose_a));
  const auto b = c.Permute(c.in(1), Order(rank, row, p.transpose_b));
  const auto y = c.Emit(MatMulSpec{static_cast<float>(p.alpha)}, {a, b},
                        {out.dtype, PermutedShape(out.shape, Order(rank, row, false))});
  c.SetOut(0, c.Permute(y, Back(rank, row)));
  return true;
}

[[maybe_unused]] const auto kCard =
    RegisterOp<GemmParam>("_linalg_gemm2")
        .Alias("linalg_gemm2")
        .Doc("alpha * A B for each of the leading axes.")
        .Params(Schema())
        .Inputs({"A", "B"})
        .Set(ShapeRule{InferShape})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kAccumulates})
        .Set(ReductionDepth{Depth})
        .Set(GradientRule{[](GradientContext& c) {
          const auto& p = c.params<GemmParam>();
          const AttrMap attrs{{"alpha", PrintAttr(p.alpha)}, {"axis", PrintAttr(p.axis)}};
          const Transposes t{p.transpose_a, p.transpose_b};
          if (c.is_asked(0)) c.Set(0, GradientOfFirst("_linalg_gemm2", t, c.gradient(), c.in(1), attrs));
          if (c.is_asked(1)) c.Set(1, GradientOfSecond("_linalg_gemm2", t, c.gradient(), c.in(0), attrs));
        }})
        .Set(ReferenceKernel{Reference})
        .Set(LowerRule{Lower});

void SumReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  std::vector<NDArray> products{NDArray(DType::kFloat64, out[0].shape())};
  Reference(node, in.subspan(0, 2), products);
  std::vector<double> sums = Numbers<double>(products[0]);
  const std::vector<double> added = Numbers<double>(in[2]);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += node.params<GemmParam>().beta * added[i];
  Store(sums, out[0]);
}

[[maybe_unused]] const auto kSum = RegisterOp<GemmParam>("_linalg_gemm")
                                       .Alias("linalg_gemm")
                                       .Doc("alpha * A B + beta * C for each of the leading axes.")
                                       .Params(Schema().Optional("beta", &GemmParam::beta, "ComputeType C."))
                                       .Inputs({"A", "B", "C"})
                                       .Set(ShapeRule{[](ShapeRelation& r) {
                                         InferShape(r);
                                         r.In(2, r.out(0));
                                         r.Out(0, r.in(2));
                                       }})
                                       .Set(SameFloatDType())
                                       .Set(AmpFacts{Arithmetic::kAccumulates})
                                       .Set(ReductionDepth{Depth})
                                       .Set(CompositionRule([](GradientContext& c) {
                                         AttrMap attrs = c.attrs();
                                         attrs.erase("beta");
                                         return std::vector<Term>{c.Call("_linalg_gemm2", {c.in(0), c.in(1)}, attrs) +
                                                                  c.params<GemmParam>().beta * c.in(2)};
                                       }))
                                       .Set(ReferenceKernel{SumReference});

// ---- products with the transpose ----

struct SyrkParam {
  bool transpose = false;
  double alpha = 1;
};

void SyrkReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<SyrkParam>();
  const Shape& shape = in[0].shape();
  const std::int64_t rows = RowsOf(shape), columns = ColumnsOf(shape), size = ColumnsOf(out[0].shape());
  const std::int64_t row_step = p.transpose ? 1 : columns, step = p.transpose ? columns : 1;
  const std::vector<double> x = Numbers<double>(in[0]);
  std::vector<double> y(static_cast<std::size_t>(out[0].size()));
  for (std::int64_t i = 0; i < std::ssize(y); ++i) {
    const double* matrix = x.data() + i / (size * size) * rows * columns;
    const double *a = matrix + i / size % size * row_step, *b = matrix + i % size * row_step;
    double sum = 0;
    for (std::int64_t k = 0; k < (p.transpose ? rows : columns); ++k) sum += a[k * step] * b[k * step];
    y[static_cast<std::size_t>(i)] = p.alpha * sum;
  }
  Store(y, out[0]);
}

[[maybe_unused]] const auto kSyrk =
    RegisterOp<SyrkParam>("_linalg_syrk")
        .Alias("linalg_syrk")
        .Doc("alpha * A A^T for each of the leading axes, or alpha * A^T A.")
        .Params(ParamSchema<SyrkParam>()
                    .Optional("transpose", &SyrkParam::transpose, "The transpose comes first.")
                    .Optional("alpha", &SyrkParam::alpha, "ComputeType the product."))
        .Inputs({"A"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          if (!r.in(0).fully_known()) return;
          if (r.in(0).rank() < 2) FailAt(r.node(), "expected matrices, got {}", r.in(0).ToString());
          const std::int64_t size = r.node().params<SyrkParam>().transpose ? ColumnsOf(r.in(0)) : RowsOf(r.in(0));
          r.Out(0, Stacked(r.in(0), r.in(0).rank() - 2, {size, size}));
        }})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kAccumulates})
        .Set(ReductionDepth{[](const Node& node, std::span<const Shape> in, const Shape&) {
          return node.params<SyrkParam>().transpose ? RowsOf(in[0]) : ColumnsOf(in[0]);
        }})
        .Set(CompositionRule([](GradientContext& c) {
          const auto& p = c.params<SyrkParam>();
          return std::vector<Term>{Product(c.in(0), c.in(0), p.transpose, !p.transpose, p.alpha)};
        }))
        .Set(ReferenceKernel{SyrkReference});

}  // namespace
}  // namespace amp::linalg_gemm
