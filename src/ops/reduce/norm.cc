// Norms over axes: norm and 2.0's _npi_norm.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/common/axes.h"
#include "ops/common/ranges.h"
#include "ops/common/reduce_rules.h"
#include "ops/common/rules.h"
#include "passes/gradient/composition_rule.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "passes/reduction_depth.h"
#include "program/reference.h"

namespace amp::norm {
namespace {

struct NormParam {
  std::int64_t ord = 2;
  std::optional<IntTuple> axis;
  std::optional<DType> out_dtype;
  bool keepdims = false;
};

// The norm of order `ord` of a vector; an empty one has norm 0.
double VectorNorm(const double* x, std::int64_t size, double ord) {
  double norm = 0;
  if (std::isinf(ord)) {
    for (std::int64_t i = 0; i < size; ++i) {
      const double next = std::abs(x[i]);
      norm = i == 0 ? next : ord > 0 ? std::max(norm, next) : std::min(norm, next);
    }
    return norm;
  }
  for (std::int64_t i = 0; i < size; ++i) {
    norm += ord == 0 ? (x[i] != 0) : ord == 2 ? x[i] * x[i] : ord == 1 ? std::abs(x[i]) : std::pow(std::abs(x[i]), ord);
  }
  return ord == 0 || ord == 1 ? norm : ord == 2 ? std::sqrt(norm) : std::pow(norm, 1 / ord);
}

void VectorNorms(const NDArray& in, const std::vector<bool>& named, double ord, NDArray& out) {
  std::vector<double> y(out.size());
  ForEachRow<double>(in, named,
                     [&](std::int64_t i, const double* x, std::int64_t size) { y[i] = VectorNorm(x, size, ord); });
  StoreResults(y, out);
}

// The norm of order 1 or 2.
bool LowerToNorm(LowerContext& c, double ord, const std::vector<bool>& named) {
  using kernels::ReduceEpilogue;
  using kernels::ReduceOp;
  return ord == 2 ? LowerToReduce(c, ReduceOp::kSumOfSquares, ReduceEpilogue::kRoot, named)
                  : LowerToReduce(c, ReduceOp::kSumOfMagnitudes, ReduceEpilogue::kNone, named);
}

void RefuseBool(DTypeRelation& r) {
  if (r.in(0) == DType::kBool) FailAt(r.node(), "expected data of a number dtype, got bool");
}

[[maybe_unused]] const auto kNorm =
    RegisterOp<NormParam>("norm")
        .Alias("_sparse_norm")
        .Alias("_npx_norm")
        .Doc("Sum of absolute values (ord 1) or root of the sum of squares (ord 2) over axes.")
        .Params(ParamSchema<NormParam>()
                    .Optional("ord", &NormParam::ord, "1 or 2.")
                    .Range(1, 2)
                    .Optional("axis", &NormParam::axis, "The axes; None or (): all.")
                    .Optional("out_dtype", &NormParam::out_dtype, "Dtype of the output; None: that of the data.")
                    .Optional("keepdims", &NormParam::keepdims, "Reduced axes stay, with size 1."))
        .Inputs({"data"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          if (!r.in(0).rank_known()) return;
          const auto& p = r.node().params<NormParam>();
          r.Out(0, WithoutAxes(r.in(0), NamedAxes(r.node(), p.axis, r.in(0).rank(), false), p.keepdims, false));
        }})
        .Set(DTypeRule{[](DTypeRelation& r) {
          RefuseBool(r);
          const auto& dtype = r.node().params<NormParam>().out_dtype;
          if (dtype) return r.Out(0, *dtype);
          r.Same({0}, {0});
        }})
        .Set(AlgebraFact{
            [](const Node& node) { return node.params<NormParam>().ord == 2 ? Algebra::kNorm : Algebra::kOther; }})
        .Set(ElementsPerResult())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(ConstantRange({0, ValueRange::kInfinity}))
        .Set(GradientRule{[](GradientContext& c) {
          const auto& p = c.params<NormParam>();
          AttrMap attrs;
          if (p.axis) attrs["axis"] = PrintAttr(*p.axis);
          const auto repeat = [&](const Term& y) { return c.Call("_backward_sum", {y, c.in(0)}, attrs); };
          if (p.ord == 1) return c.Set(0, repeat(c.gradient()) * Unary("sign", c.in(0)));
          c.Set(0, c.in(0) * repeat(c.gradient() / c.out()));
        }})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          const auto& p = node.params<NormParam>();
          VectorNorms(in[0], NamedAxes(node, p.axis, in[0].shape().rank(), false), static_cast<double>(p.ord), out[0]);
        }})
        .Set(KernelRule{[](LowerContext& c) {
          const auto& p = c.node().params<NormParam>();
          return LowerToNorm(c, p.ord, NamedAxes(c.node(), p.axis, c.in_type(0).shape.rank(), false));
        }});

struct NumpyNormParam {
  double ord = 2;
  std::optional<IntTuple> axis;
  bool keepdims = false;
  std::int64_t flag = -1;
};

// What flags mean: -2 and 1 the root of all squares, 2 the sum of singular values, others the norm of order `ord`.
enum Flag { kNuclear = 2, kFrobenius = 1, kAllFrobenius = -2 };

bool IsFrobenius(const NumpyNormParam& p) { return p.flag == kFrobenius || p.flag == kAllFrobenius; }

// Where norms are those of vectors, or the root of all squares.
double VectorOrder(const NumpyNormParam& p, std::size_t num_axes) {
  return num_axes == 1 && p.flag != kAllFrobenius ? p.ord : 2;
}

// The axes in the order given; all where none is.
std::vector<int> AxesOf(const Node& node, const NumpyNormParam& p, int rank) {
  std::vector<int> axes;
  for (int i = 0; i < rank && !p.axis; ++i) axes.push_back(i);
  for (const std::int64_t axis : p.axis.value_or(IntTuple())) {
    const auto normal = NormalizeAxis(axis, rank);
    if (!normal) FailAt(node, "axis {} does not exist in data of rank {}", axis, rank);
    if (std::find(axes.begin(), axes.end(), *normal) != axes.end()) FailAt(node, "axis {} is given twice", axis);
    axes.push_back(*normal);
  }
  return axes;
}

// Vectors have one axis, matrices two, and the root of all squares any number.
void CheckNumpyNorm(const Node& node, const NumpyNormParam& p, std::size_t num_axes) {
  if (num_axes == 1 && p.flag != kNuclear) return;
  if (num_axes != 0 && p.flag == kAllFrobenius) return;
  if (num_axes != 2) FailAt(node, "expected one axis (vectors) or two (matrices), got {}", num_axes);
  if (p.flag == kFrobenius || p.flag == kNuclear) return;
  const double ord = std::abs(p.ord);
  if (ord != 1 && ord != 2 && !std::isinf(ord)) {
    FailAt(node, "expected ord 1, 2, inf or their negatives for matrices, got {}", p.ord);
  }
}

void InferNumpyNorm(ShapeRelation& r) {
  if (!r.in(0).rank_known()) return;
  const auto& p = r.node().params<NumpyNormParam>();
  CheckNumpyNorm(r.node(), p, AxesOf(r.node(), p, r.in(0).rank()).size());
  r.Out(0, WithoutAxes(r.in(0), NamedAxes(r.node(), p.axis, r.in(0).rank(), true), p.keepdims, true));
}

// The largest or smallest sum of absolute values of a column (orders 1 and -1) or of a row (infinite orders).
double MatrixNorm(const double* x, std::int64_t rows, std::int64_t columns, bool by_column, bool largest) {
  double norm = 0;
  for (std::int64_t i = 0; i < (by_column ? columns : rows); ++i) {
    double sum = 0;
    for (std::int64_t k = 0; k < (by_column ? rows : columns); ++k) {
      sum += std::abs(by_column ? x[k * columns + i] : x[i * columns + k]);
    }
    norm = i == 0 ? sum : largest ? std::max(norm, sum) : std::min(norm, sum);
  }
  return norm;
}

// Makes columns i and j of a matrix orthogonal. Returns whether they were not.
bool Rotate(std::vector<double>& a, std::int64_t rows, std::int64_t columns, std::int64_t i, std::int64_t j) {
  double left = 0, right = 0, product = 0;
  for (std::int64_t k = 0; k < rows; ++k) {
    const double x = a[k * columns + i], y = a[k * columns + j];
    left += x * x;
    right += y * y;
    product += x * y;
  }
  if (!(std::abs(product) > 1e-16 * std::sqrt(left * right))) return false;
  const double zeta = (right - left) / (2 * product);
  const double tangent = std::copysign(1.0, zeta) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
  const double cosine = 1 / std::sqrt(1 + tangent * tangent), sine = cosine * tangent;
  for (std::int64_t k = 0; k < rows; ++k) {
    const double x = a[k * columns + i], y = a[k * columns + j];
    a[k * columns + i] = cosine * x - sine * y;
    a[k * columns + j] = sine * x + cosine * y;
  }
  return true;
}

// One-sided Jacobi rotations: the columns' lengths become the singular values.
std::vector<double> SingularValues(const double* x, std::int64_t rows, std::int64_t columns) {
  constexpr int kMaxSweeps = 40;
  std::vector<double> a(x, x + rows * columns);
  if (columns > rows) {  // the transpose has the same, and fewer columns
    for (std::int64_t i = 0; i < rows * columns; ++i) a[i % columns * rows + i / columns] = x[i];
    std::swap(rows, columns);
  }
  bool changed = true;
  for (int sweep = 0; sweep < kMaxSweeps && changed; ++sweep) {
    changed = false;
    for (std::int64_t i = 0; i < columns; ++i) {
      for (std::int64_t j = i + 1; j < columns; ++j) changed = Rotate(a, rows, columns, i, j) || changed;
    }
  }
  std::vector<double> values(columns, 0.0);
  for (std::int64_t i = 0; i < rows * columns; ++i) values[i % columns] += a[i] * a[i];
  for (double& value : values) value = std::sqrt(value);
  return values;
}

double SpectralNorm(const double* x, std::int64_t rows, std::int64_t columns, const NumpyNormParam& p) {
  const std::vector<double> values = SingularValues(x, rows, columns);
  if (values.empty()) return 0;
  if (p.flag == kNuclear) return std::accumulate(values.begin(), values.end(), 0.0);
  return p.ord > 0 ? *std::max_element(values.begin(), values.end()) : *std::min_element(values.begin(), values.end());
}

void MatrixNorms(const NDArray& in, const std::vector<int>& axes, const NumpyNormParam& p, NDArray& out) {
  std::vector<bool> named(in.shape().rank(), false);
  for (const int axis : axes) named[axis] = true;
  // Rows of ForEachRow have the axes in the data's order.
  const bool swapped = axes[0] > axes[1];
  const std::int64_t rows = in.shape()[swapped ? axes[1] : axes[0]], columns = in.shape()[swapped ? axes[0] : axes[1]];
  const bool by_column = (std::abs(p.ord) == 1) != swapped, spectral = p.flag == kNuclear || std::abs(p.ord) == 2;
  std::vector<double> y(out.size());
  ForEachRow<double>(in, named, [&](std::int64_t i, const double* x, std::int64_t) {
    y[i] = spectral ? SpectralNorm(x, rows, columns, p) : MatrixNorm(x, rows, columns, by_column, p.ord > 0);
  });
  StoreResults(y, out);
}

// A matrix's largest or smallest sum of magnitudes along one of its axes.
Term ComposeMatrixNorm(GradientContext& c, const NumpyNormParam& p, const Term& magnitudes) {
  if (p.flag == kNuclear || std::abs(p.ord) == 2) {
    throw UnsupportedError(c.node().Describe() + ": norms made of singular values have no gradient here");
  }
  const std::int64_t summed = (*p.axis)[std::abs(p.ord) == 1 ? 0 : 1];
  const Term sums = c.Call("_npi_sum", {magnitudes}, {{"axis", PrintAttr(IntTuple{summed})}, {"keepdims", "True"}});
  return c.Call(p.ord > 0 ? "_npi_max" : "_npi_min", {sums},
                {{"axis", PrintAttr(*p.axis)}, {"keepdims", PrintAttr(p.keepdims)}});
}

std::vector<Term> ComposeNumpyNorm(GradientContext& c) {
  const auto& p = c.params<NumpyNormParam>();
  AttrMap attrs{{"keepdims", PrintAttr(p.keepdims)}};
  if (p.axis) attrs["axis"] = PrintAttr(*p.axis);
  const auto reduce = [&](const char* op, const Term& x) { return c.Call(op, {x}, attrs); };
  if (IsFrobenius(p)) return {Unary("sqrt", reduce("_npi_sum", Unary("square", c.in(0))))};
  if (!p.axis) throw UnsupportedError(c.node().Describe() + ": the gradient needs the attribute axis");
  const Term magnitudes = Unary("abs", c.in(0));
  if (p.axis->size() == 2) return {ComposeMatrixNorm(c, p, magnitudes)};
  if (p.ord == 0) return {reduce("_npi_sum", Unary("zeros_like", c.in(0)))};  // a count
  if (p.ord == 1) return {reduce("_npi_sum", magnitudes)};
  if (p.ord == 2) return {Unary("sqrt", reduce("_npi_sum", Unary("square", c.in(0))))};
  if (std::isinf(p.ord)) return {reduce(p.ord > 0 ? "_npi_max" : "_npi_min", magnitudes)};
  return {Power(reduce("_npi_sum", Power(magnitudes, p.ord)), 1 / p.ord)};
}

[[maybe_unused]] const auto kNumpyNorm =
    RegisterOp<NumpyNormParam>("_npi_norm")
        .Doc("Norms of vectors (one axis) and matrices (two axes).")
        .Params(ParamSchema<NumpyNormParam>()
                    .Optional("ord", &NumpyNormParam::ord, "The order; 0 counts the elements that are not 0.")
                    .Optional("axis", &NumpyNormParam::axis, "One or two axes; None: all.")
                    .Optional("keepdims", &NumpyNormParam::keepdims, "Reduced axes stay, with size 1.")
                    .Optional("flag", &NumpyNormParam::flag,
                              "-2 (all axes) and 1: root of the sum of squares of matrices; 2: sum of singular values; "
                              "others: the norm of order `ord`.")
                    .Range(-2, 4))
        .Inputs({"data"})
        .Set(ShapeRule{InferNumpyNorm})
        .Set(DTypeRule{[](DTypeRelation& r) {
          RefuseBool(r);
          r.AllSame();
        }})
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(ConstantRange({0, ValueRange::kInfinity}))
        .Set(CompositionRule(ComposeNumpyNorm))
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          const auto& p = node.params<NumpyNormParam>();
          const int rank = in[0].shape().rank();
          const std::vector<int> axes = AxesOf(node, p, rank);
          if (axes.size() == 2 && !IsFrobenius(p)) return MatrixNorms(in[0], axes, p, out[0]);
          VectorNorms(in[0], NamedAxes(node, p.axis, rank, true), VectorOrder(p, axes.size()), out[0]);
        }})
        .Set(KernelRule{[](LowerContext& c) {
          const auto& p = c.node().params<NumpyNormParam>();
          const int rank = c.in_type(0).shape.rank();
          const std::size_t num_axes = AxesOf(c.node(), p, rank).size();
          const double ord = VectorOrder(p, num_axes);
          if ((num_axes == 2 && !IsFrobenius(p)) || (ord != 1 && ord != 2)) return false;
          return LowerToNorm(c, ord, NamedAxes(c.node(), p.axis, rank, true));
        }});

}  // namespace
}  // namespace amp::norm
