// dot and batch_dot: products of matrices.
#include <algorithm>

#include "kernels/threads/parallel.h"
#include "ops/common/matrix_gradients.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "ops/linalg/matmul.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/reduction_depth.h"
#include "passes/tiling_accumulation.h"
#include "program/lowering.h"
#include "program/reference.h"
#include "program/tiled_product.h"

namespace amp {
namespace {

struct DotParam {
  bool transpose_a = false;
  bool transpose_b = false;
};

ParamSchema<DotParam> DotSchema() {
  return ParamSchema<DotParam>()
      .Optional("transpose_a", &DotParam::transpose_a, "Use the transpose of lhs.")
      .Optional("transpose_b", &DotParam::transpose_b, "Use the transpose of rhs.")
      .Ignored("forward_stype");
}

// dot: the last axis of lhs meets the first of rhs; transposing moves the first axis of lhs last, the last of rhs
// first.
struct DotShapes {
  std::vector<int> a_axes, b_axes;  // permutations before the product
  std::int64_t m = 1, k = 1, n = 1;
  Shape out;
};

DotShapes ShapesOf(const Node& node, const Shape& a, const Shape& b) {
  const auto& p = node.params<DotParam>();
  if (a.rank() < 1 || b.rank() < 1)
    FailAt(node, "expected arrays of rank 1 or more, got {} and {}", a.ToString(), b.ToString());
  DotShapes s;
  for (int i = 0; i < a.rank(); ++i) s.a_axes.push_back(i);
  for (int i = 0; i < b.rank(); ++i) s.b_axes.push_back(i);
  if (p.transpose_a) std::rotate(s.a_axes.begin(), s.a_axes.begin() + 1, s.a_axes.end());
  if (p.transpose_b) std::rotate(s.b_axes.rbegin(), s.b_axes.rbegin() + 1, s.b_axes.rend());
  std::vector<std::int64_t> out;
  for (int i = 0; i + 1 < a.rank(); ++i) out.push_back(a[s.a_axes[i]]);
  for (int i = 1; i < b.rank(); ++i) out.push_back(b[s.b_axes[i]]);
  s.k = a[s.a_axes.back()];
  const std::int64_t rows = b[s.b_axes[0]];
  if (s.k >= 0 && rows >= 0 && rows != s.k) {
    FailAt(node, "expected lhs and rhs with a common inner size, got {} and {}", a.ToString(), b.ToString());
  }
  for (int i = 0; i + 1 < a.rank(); ++i) s.m *= a[s.a_axes[i]];
  for (int i = 1; i < b.rank(); ++i) s.n *= b[s.b_axes[i]];
  if (out.empty()) out.push_back(1);  // a product of vectors: shape (1,)
  s.out = Shape(out);
  return s;
}

void InferDot(ShapeRelation& r) {
  if (r.in(0).rank_known() && r.in(1).rank_known()) r.Out(0, ShapesOf(r.node(), r.in(0), r.in(1)).out);
}

void DotReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const DotShapes s = ShapesOf(node, in[0].shape(), in[1].shape());
  NDArray y = out[0].Reshaped(Shape{1, s.m, s.n});
  ProductReference(node, Transposed(in[0], s.a_axes).Reshaped(Shape{1, s.m, s.k}),
                   Transposed(in[1], s.b_axes).Reshaped(Shape{1, s.k, s.n}), {}, y);
}

bool LowerDot(LowerContext& c) {
  const DotShapes s = ShapesOf(c.node(), c.in_type(0).shape, c.in_type(1).shape);
  const auto a = c.Reshape(c.Permute(c.in(0), s.a_axes), Shape{s.m, s.k});
  const auto b = c.Reshape(c.Permute(c.in(1), s.b_axes), Shape{s.k, s.n});
  const auto out = EmitMatMul(c, {a, b}, {c.out_type(0).dtype, Shape{s.m, s.n}});
  c.SetOut(0, c.Reshape(out, c.out_type(0).shape));
  return true;
}

void InferBatchDot(ShapeRelation& r) {
  const auto& p = r.node().params<DotParam>();
  if (!r.in(0).rank_known() || !r.in(1).rank_known()) return;
  const Shape &a = r.in(0), &b = r.in(1);
  const int rank = a.rank();
  if (rank < 3 || b.rank() != rank) {
    FailAt(r.node(), "expected arrays of one rank, 3 or more, got {} and {}", a.ToString(), b.ToString());
  }
  Shape out = a;
  const std::int64_t k_a = a[p.transpose_a ? rank - 2 : rank - 1], k_b = b[p.transpose_b ? rank - 1 : rank - 2];
  bool clash = k_a >= 0 && k_b >= 0 && k_a != k_b;
  for (int i = 0; i < rank - 2; ++i) {
    clash = clash || (a[i] >= 0 && b[i] >= 0 && a[i] != b[i]);
    if (out[i] < 0) out[i] = b[i];
  }
  if (clash) FailAt(r.node(), "the shapes {} and {} do not fit a product of matrices", a.ToString(), b.ToString());
  out[rank - 2] = a[p.transpose_a ? rank - 1 : rank - 2];
  out[rank - 1] = b[p.transpose_b ? rank - 2 : rank - 1];
  r.Out(0, out);
}

std::vector<int> LastTwoSwapped(int rank, bool swap) {
  std::vector<int> axes;
  for (int i = 0; i < rank; ++i) axes.push_back(i);
  if (swap) std::swap(axes[rank - 2], axes[rank - 1]);
  return axes;
}

NDArray Matrices(const NDArray& array, bool transpose) {
  const int rank = array.shape().rank();
  const NDArray turned = transpose ? Transposed(array, LastTwoSwapped(rank, true)) : array;
  const Shape& s = turned.shape();
  return turned.Reshaped(Shape{s.SizeOf(0, rank - 2), s[rank - 2], s[rank - 1]});
}

void BatchDotReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<DotParam>();
  NDArray y = Matrices(out[0], false);
  ProductReference(node, Matrices(in[0], p.transpose_a), Matrices(in[1], p.transpose_b), {}, y);
}

bool LowerBatchDot(LowerContext& c) {
  const auto& p = c.node().params<DotParam>();
  const int rank = c.in_type(0).shape.rank();
  const auto a = p.transpose_a ? c.Permute(c.in(0), LastTwoSwapped(rank, true)) : c.in(0);
  const auto b = p.transpose_b ? c.Permute(c.in(1), LastTwoSwapped(rank, true)) : c.in(1);
  c.SetOut(0, EmitMatMul(c, {a, b}, c.out_type(0)));
  return true;
}

std::int64_t DotDepth(const Node& node, std::span<const Shape> in, const Shape&) {
  return ShapesOf(node, in[0], in[1]).k;
}

std::int64_t BatchDotDepth(const Node& node, std::span<const Shape> in, const Shape&) {
  return in[0][in[0].rank() - (node.params<DotParam>().transpose_a ? 2 : 1)];
}

// The gradients, by matrices. The product of the matrices only lends its shape and is not computed.
void DotGradient(GradientContext& c) {
  const auto& p = c.params<DotParam>();
  const Transposes t{p.transpose_a, p.transpose_b};
  const Term a = t.a ? ColumnsOf(c.in(0)) : RowsOf(c.in(0)), b = t.b ? RowsOf(c.in(1)) : ColumnsOf(c.in(1));
  const Term g = ReshapeLike(c.gradient(), c.Call("dot", {a, b}, c.attrs()));
  if (c.is_asked(0)) c.Set(0, ReshapeLike(GradientOfFirst("dot", t, g, b), c.in(0)));
  if (c.is_asked(1)) c.Set(1, ReshapeLike(GradientOfSecond("dot", t, g, a), c.in(1)));
}

void BatchDotGradient(GradientContext& c) {
  const auto& p = c.params<DotParam>();
  const Transposes t{p.transpose_a, p.transpose_b};
  if (c.is_asked(0)) c.Set(0, GradientOfFirst("batch_dot", t, c.gradient(), c.in(1)));
  if (c.is_asked(1)) c.Set(1, GradientOfSecond("batch_dot", t, c.gradient(), c.in(0)));
}

[[maybe_unused]] const auto kDot = RegisterOp<DotParam>("dot")
                                       .Alias("_sparse_dot")
                                       .Doc("Sums over the last axis of lhs and the first of rhs.")
                                       .Params(DotSchema())
                                       .Inputs({"lhs", "rhs"})
                                       .Set(ShapeRule{InferDot})
                                       .Set(SameFloatDType())
                                       .Set(AmpFacts{Arithmetic::kAccumulates})
                                       .Set(ReductionDepth{DotDepth})
                                       .Set(MatrixProductRange())
                                       .Set(SumsInTiles{})
                                       .Set(GradientRule{DotGradient})
                                       .Set(ReferenceKernel{DotReference})
                                       .Set(LowerRule{LowerDot});

[[maybe_unused]] const auto kBatchDot = RegisterOp<DotParam>("batch_dot")
                                            .Alias("_npx_batch_dot")
                                            .Doc("lhs (..., M, K) times rhs (..., K, N), for each of the leading axes.")
                                            .Params(DotSchema())
                                            .Inputs({"lhs", "rhs"})
                                            .Set(ShapeRule{InferBatchDot})
                                            .Set(SameFloatDType())
                                            .Set(AmpFacts{Arithmetic::kAccumulates})
                                            .Set(ReductionDepth{BatchDotDepth})
                                            .Set(MatrixProductRange())
                                            .Set(SumsInTiles{})
                                            .Set(GradientRule{BatchDotGradient})
                                            .Set(ReferenceKernel{BatchDotReference})
                                            .Set(LowerRule{LowerBatchDot});

// Elements [begin, begin + length) of axis 1 or 2 of (B, R, C).
NDArray Slice(const NDArray& array, int axis, std::int64_t begin, std::int64_t length) {
  Shape shape = array.shape();
  const std::int64_t size = shape[axis], inner = shape.SizeOf(axis + 1, shape.rank());
  shape[axis] = length;
  NDArray part(array.dtype(), shape);
  const std::size_t bytes = BytesOf(array.dtype()), row = static_cast<std::size_t>(length * inner) * bytes;
  for (std::int64_t i = 0; i < shape.SizeOf(0, axis); ++i) {
    const auto first = static_cast<std::size_t>((i * size + begin) * inner) * bytes;
    std::copy_n(array.As<char>() + first, row, part.As<char>() + static_cast<std::size_t>(i) * row);
  }
  return part;
}

// Adds in the dtype of the sums, which is float32 or bfloat16; the terms are float32.
void AddTo(const NDArray& terms, NDArray& sums) {
  if (sums.size() == 0) return;
  if (sums.dtype() == DType::kBFloat16) return AddRounded(terms, sums);
  for (std::int64_t i = 0; i < sums.size(); ++i) sums.As<float>()[i] += terms.As<float>()[i % terms.size()];
}

}  // namespace

void ProductReference(const Node& node, const NDArray& a, const NDArray& b, const NDArray& bias, NDArray& out) {
  const std::optional<Tiling> tiling = TilingOf(node);
  if (!tiling) return MatMulReference(a, b, 1.0, out);
  if (a.dtype() == DType::kFloat64) FailAt(node, "attribute {}: not for float64", kTilingAccumAttr);
  NDArray sums = NDArray::Zeros(tiling->accumulator, out.shape());
  const std::int64_t k = a.shape()[2];
  for (std::int64_t i = 0; i < CountTiles(node, *tiling, k); ++i) {
    const std::int64_t begin = i * tiling->tile_k, length = std::min(tiling->tile_k, k - begin);
    NDArray tile(DType::kFloat32, out.shape());
    MatMulReference(Slice(a, 2, begin, length), Slice(b, 1, begin, length), 1.0, tile);
    AddTo(tile, sums);
  }
  if (bias.defined()) {
    NDArray wide(DType::kFloat32, bias.shape());
    Store(Numbers<float>(bias), wide);
    AddTo(wide, sums);
  }
  Store(Numbers<float>(sums), out);
}

void MatMulReference(const NDArray& a, const NDArray& b, double scale, NDArray& out) {
  WithFloatType(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t batch = a.shape()[0], m = a.shape()[1], k = a.shape()[2], n = b.shape()[2];
    const std::vector<T> x = Numbers<T>(a), w = Numbers<T>(b);
    std::vector<T> y(batch * m * n, T{0});
    kernels::ParallelFor(batch * m, 1, [&](std::int64_t place) {
      T* row = y.data() + place * n;
      for (std::int64_t j = 0; j < k; ++j) {
        const T value = x[place * k + j];
        const T* other = w.data() + (place / m * k + j) * n;
        for (std::int64_t c = 0; c < n; ++c) row[c] += value * other[c];
      }
      for (std::int64_t c = 0; c < n; ++c) row[c] *= static_cast<T>(scale);
    });
    Store(y, out);
  });
}

}  // namespace amp
