// Linear algebra on matrices along the last two axes: products and solutions with triangular matrices, diagonals and
// triangles, inverses and determinants.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "kernels/parallel.h"
#include "ops/backward_move.h"
#include "ops/numeric.h"
#include "ops/ranges.h"
#include "ops/rules.h"
#include "passes/gradient/composition_rule.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp {
namespace {

constexpr double kFarthest = 1 << 20;

Term Product(const Term& a, const Term& b, bool transpose_a = false, bool transpose_b = false, double alpha = 1) {
  return a.context().Call(
      "_linalg_gemm2", {a, b},
      {{"transpose_a", PrintAttr(transpose_a)}, {"transpose_b", PrintAttr(transpose_b)}, {"alpha", PrintAttr(alpha)}});
}

// One number for each matrix, beside its elements.
Term BesideMatrices(const Term& numbers) {
  const auto expand = [](const Term& x) { return x.context().Call("expand_dims", {x}, {{"axis", "-1"}}); };
  return expand(expand(numbers));
}

// ---- shapes ----

std::int64_t RowsOf(const Shape& shape) { return shape[shape.rank() - 2]; }
std::int64_t ColumnsOf(const Shape& shape) { return shape[shape.rank() - 1]; }

void RequireSquare(const Node& node, const Shape& shape) {
  if (shape.rank() < 2 || RowsOf(shape) != ColumnsOf(shape)) {
    FailAt(node, "expected square matrices, got {}", shape.ToString());
  }
}

// The leading axes, and others behind them.
Shape Stacked(const Shape& leading, int count, std::initializer_list<std::int64_t> sizes) {
  std::vector<std::int64_t> dims(leading.dims().begin(), leading.dims().begin() + count);
  dims.insert(dims.end(), sizes);
  return Shape(dims);
}

std::int64_t CountOf(const Shape& matrices) { return matrices.SizeOf(0, matrices.rank() - 2); }

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
                    .Optional("alpha", &SyrkParam::alpha, "Multiplies the product."))
        .Inputs({"A"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          if (!r.in(0).fully_known()) return;
          if (r.in(0).rank() < 2) FailAt(r.node(), "expected matrices, got {}", r.in(0).ToString());
          const std::int64_t size = r.node().params<SyrkParam>().transpose ? ColumnsOf(r.in(0)) : RowsOf(r.in(0));
          r.Out(0, Stacked(r.in(0), r.in(0).rank() - 2, {size, size}));
        }})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kAccumulates})
        .Set(CompositionRule([](GradientContext& c) {
          const auto& p = c.params<SyrkParam>();
          return std::vector<Term>{Product(c.in(0), c.in(0), p.transpose, !p.transpose, p.alpha)};
        }))
        .Set(ReferenceKernel{SyrkReference});

// ---- triangular matrices ----

struct TriangularParam {
  bool transpose = false, rightside = false, lower = true;
  double alpha = 1;
};

// A and B: a triangular matrix for each matrix.
void InferTriangular(ShapeRelation& r) {
  r.Out(0, r.in(1));
  r.In(1, r.out(0));
  if (!r.in(0).fully_known() || !r.in(1).fully_known()) return;
  const Shape &a = r.in(0), &b = r.in(1);
  RequireSquare(r.node(), a);
  const bool fits = a.rank() == b.rank() && Stacked(a, a.rank() - 2, {}) == Stacked(b, b.rank() - 2, {}) &&
                    RowsOf(a) == (r.node().params<TriangularParam>().rightside ? ColumnsOf(b) : RowsOf(b));
  if (!fits) FailAt(r.node(), "the shapes {} and {} do not fit", a.ToString(), b.ToString());
}

// One triangular matrix, transposed where the operator says so, beside lines of the other matrix that it meets.
struct Triangle {
  const double* a;
  std::int64_t size;
  bool transpose, lower;

  // Of the matrix that is meant.
  bool is_lower() const { return lower != transpose; }
  double At(std::int64_t row, std::int64_t column) const {
    return transpose ? a[column * size + row] : a[row * size + column];
  }

  // y = A x in place, where elements of x lie `step` apart.
  void Multiply(double* x, std::int64_t step) const {
    for (std::int64_t k = 0; k < size; ++k) {
      const std::int64_t row = is_lower() ? size - 1 - k : k;
      double sum = 0;
      const std::int64_t begin = is_lower() ? 0 : row, end = is_lower() ? row + 1 : size;
      for (std::int64_t i = begin; i < end; ++i) sum += At(row, i) * x[i * step];
      x[row * step] = sum;
    }
  }
  // The x of A x = y in place.
  void Solve(double* y, std::int64_t step) const {
    for (std::int64_t k = 0; k < size; ++k) {
      const std::int64_t row = is_lower() ? k : size - 1 - k;
      const std::int64_t begin = is_lower() ? 0 : row + 1, end = is_lower() ? row : size;
      for (std::int64_t i = begin; i < end; ++i) y[row * step] -= At(row, i) * y[i * step];
      y[row * step] /= At(row, row);
    }
  }
};

// Columns of B meet A from the left; its rows from the right, which meet the transpose.
void TriangularReference(const Node& node, void (Triangle::*apply)(double*, std::int64_t) const,
                         std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<TriangularParam>();
  const std::int64_t size = ColumnsOf(in[0].shape()), rows = RowsOf(in[1].shape()), columns = ColumnsOf(in[1].shape());
  const std::vector<double> a = Numbers<double>(in[0]);
  std::vector<double> b = Numbers<double>(in[1]);
  for (double& x : b) x *= p.alpha;
  kernels::ParallelFor(CountOf(in[0].shape()), 1, [&](std::int64_t i) {
    const Triangle triangle{a.data() + i * size * size, size, p.transpose != p.rightside, p.lower};
    double* matrix = b.data() + i * rows * columns;
    for (std::int64_t line = 0; line < (p.rightside ? rows : columns); ++line) {
      (triangle.*apply)(p.rightside ? matrix + line * columns : matrix + line, p.rightside ? 1 : columns);
    }
  });
  Store(b, out[0]);
}

// The gradient of A, of which a triangle is read.
Term OfTriangle(const TriangularParam& p, const Term& gradient) {
  return Unary(p.lower ? "_npi_tril" : "_npi_triu", gradient);
}

// What the transpose of the operator makes of the gradient, without alpha.
Term Transposed(GradientContext& c, const char* op, double alpha) {
  const auto& p = c.params<TriangularParam>();
  return c.Call(op, {c.in(0), c.gradient()},
                {{"transpose", PrintAttr(!p.transpose)},
                 {"rightside", PrintAttr(p.rightside)},
                 {"lower", PrintAttr(p.lower)},
                 {"alpha", PrintAttr(alpha)}});
}

// A product in the order, and transposed, as A stands in the operator: of `out`, shaped as its result, and `in`, as B.
Term OuterProduct(const TriangularParam& p, const Term& out, const Term& in, double alpha) {
  const bool out_first = p.transpose == p.rightside;
  return out_first ? Product(out, in, p.rightside, !p.rightside, alpha)
                   : Product(in, out, p.rightside, !p.rightside, alpha);
}

void MultiplyGradient(GradientContext& c) {
  const auto& p = c.params<TriangularParam>();
  if (c.is_asked(0)) c.Set(0, OfTriangle(p, OuterProduct(p, c.gradient(), c.in(1), p.alpha)));
  if (c.is_asked(1)) c.Set(1, Transposed(c, "_linalg_trmm", p.alpha));
}

void SolveGradient(GradientContext& c) {
  const auto& p = c.params<TriangularParam>();
  const Term solved = Transposed(c, "_linalg_trsm", 1);
  if (c.is_asked(0)) c.Set(0, OfTriangle(p, OuterProduct(p, solved, c.out(), -1)));
  if (c.is_asked(1)) c.Set(1, solved * p.alpha);
}

OpDefinition<TriangularParam> RegisterTriangular(const char* name, const char* doc) {
  return RegisterOp<TriangularParam>(name)
      .Doc(doc)
      .Params(ParamSchema<TriangularParam>()
                  .Optional("transpose", &TriangularParam::transpose, "Use the transpose of A.")
                  .Optional("rightside", &TriangularParam::rightside, "A stands on the right.")
                  .Optional("lower", &TriangularParam::lower, "A is lower triangular; its other elements are not read.")
                  .Optional("alpha", &TriangularParam::alpha, "Multiplies B."))
      .Inputs({"A", "B"})
      .Set(ShapeRule{InferTriangular})
      .Set(SameFloatDType())
      .Set(AmpFacts{Arithmetic::kNeedsFloat32});
}

[[maybe_unused]] const auto kMultiply =
    RegisterTriangular("_linalg_trmm", "alpha * A B for triangular matrices A, for each of the leading axes.")
        .Alias("linalg_trmm")
        .Set(GradientRule{MultiplyGradient})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          TriangularReference(node, &Triangle::Multiply, in, out);
        }});

[[maybe_unused]] const auto kSolve =
    RegisterTriangular("_linalg_trsm", "The X of A X = alpha * B for triangular matrices A, for each leading axis.")
        .Alias("linalg_trsm")
        .Set(GradientRule{SolveGradient})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          TriangularReference(node, &Triangle::Solve, in, out);
        }});

// ---- diagonals and triangles as vectors ----

struct DiagonalParam {
  std::int64_t offset = 0;
};
struct TrianParam {
  std::int64_t offset = 0;
  bool lower = true;
};

// Where the elements of a vector stand in a square matrix, one after the other.
using Places = std::vector<std::pair<std::int64_t, std::int64_t>>;

Places PlacesOf(const DiagonalParam& p, std::int64_t size) {
  Places places;
  for (std::int64_t i = 0; i < size; ++i) {
    if (i + p.offset >= 0 && i + p.offset < size) places.emplace_back(i, i + p.offset);
  }
  return places;
}

// An offset above 0 means the triangle above that diagonal, one below 0 the one below, whatever `lower` says.
Places PlacesOf(const TrianParam& p, std::int64_t size) {
  const bool lower = p.offset == 0 ? p.lower : p.offset < 0;
  Places places;
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j < size; ++j) {
      if (lower ? j - i <= p.offset : j - i >= p.offset) places.emplace_back(i, j);
    }
  }
  return places;
}

// How many there are; -1: too many for a tensor.
std::int64_t CountOf(const DiagonalParam& p, std::int64_t size) {
  return p.offset <= -size || p.offset >= size ? 0 : size - std::abs(p.offset);
}
std::int64_t CountOf(const TrianParam& p, std::int64_t size) {
  const std::int64_t side = CountOf(DiagonalParam{p.offset}, size);
  return side >> 31 == 0 ? side * (side + 1) / 2 : -1;
}

// The size of the matrix that a vector of `count` elements makes; -1: of none.
std::int64_t SizeOf(const DiagonalParam& p, std::int64_t count) { return count + std::abs(p.offset); }
std::int64_t SizeOf(const TrianParam& p, std::int64_t count) {
  const auto side = static_cast<std::int64_t>((std::sqrt(8.0 * static_cast<double>(count) + 1) - 1) / 2 + 0.5);
  return side * (side + 1) / 2 == count ? side + std::abs(p.offset) : -1;
}

template <class P>
void InferExtract(ShapeRelation& r) {
  if (!r.in(0).fully_known()) return;
  RequireSquare(r.node(), r.in(0));
  const auto& p = r.node().params<P>();
  const std::int64_t count = CountOf(p, ColumnsOf(r.in(0)));
  if (count < 0) FailAt(r.node(), "the triangle of matrices {} has too many elements", r.in(0).ToString());
  if (count == 0) FailAt(r.node(), "offset {} lies outside of matrices {}", p.offset, r.in(0).ToString());
  r.Out(0, Stacked(r.in(0), r.in(0).rank() - 2, {count}));
}

template <class P>
void InferMake(ShapeRelation& r) {
  if (!r.in(0).fully_known()) return;
  if (r.in(0).rank() < 1) FailAt(r.node(), "expected vectors, got a scalar");
  const std::int64_t size = SizeOf(r.node().params<P>(), ColumnsOf(r.in(0)));
  if (size < 0) FailAt(r.node(), "{} elements are no triangle", ColumnsOf(r.in(0)));
  r.Out(0, Stacked(r.in(0), r.in(0).rank() - 1, {size, size}));
}

template <class P>
void ExtractReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const std::int64_t size = ColumnsOf(in[0].shape());
  const Places places = PlacesOf(node.params<P>(), size);
  const auto bytes = static_cast<std::size_t>(BytesOf(in[0].dtype()));
  char* to = out[0].As<char>();
  for (std::int64_t matrix = 0; matrix < CountOf(in[0].shape()); ++matrix) {
    for (const auto& [row, column] : places) {
      std::memcpy(to, in[0].As<char>() + ((matrix * size + row) * size + column) * bytes, bytes);
      to += bytes;
    }
  }
}

template <class P>
void MakeReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const std::int64_t size = ColumnsOf(out[0].shape());
  const Places places = PlacesOf(node.params<P>(), size);
  const auto bytes = static_cast<std::size_t>(BytesOf(in[0].dtype()));
  if (out[0].bytes() != 0) std::memset(out[0].data(), 0, static_cast<std::size_t>(out[0].bytes()));
  const char* from = in[0].As<char>();
  for (std::int64_t matrix = 0; matrix < CountOf(out[0].shape()); ++matrix) {
    for (const auto& [row, column] : places) {
      std::memcpy(out[0].As<char>() + ((matrix * size + row) * size + column) * bytes, from, bytes);
      from += bytes;
    }
  }
}

ParamSchema<DiagonalParam> SchemaOf(const DiagonalParam&) {
  return ParamSchema<DiagonalParam>()
      .Optional("offset", &DiagonalParam::offset, "Which diagonal: above the main one, or below where negative.")
      .Range(-kFarthest, kFarthest);
}
ParamSchema<TrianParam> SchemaOf(const TrianParam&) {
  return ParamSchema<TrianParam>()
      .Optional("offset", &TrianParam::offset, "The diagonal where the triangle begins.")
      .Range(-kFarthest, kFarthest)
      .Optional("lower", &TrianParam::lower, "With offset 0: the lower triangle, not the upper one.");
}

template <class P>
OpDefinition<P> Register(const char* name, const char* doc, void (*infer)(ShapeRelation&),
                         void (*run)(const Node&, std::span<const NDArray>, std::span<NDArray>)) {
  return RegisterOp<P>(name)
      .Alias(std::string(name).substr(1))
      .Doc(doc)
      .Params(SchemaOf(P()))
      .Inputs({"A"})
      .Set(ShapeRule{infer})
      .Set(SameFloatDType())
      .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
      .Set(DataAndZero())
      .Set(MoveGradient())
      .Set(ReferenceKernel{run});
}

[[maybe_unused]] const auto kExtractDiagonal =
    Register<DiagonalParam>("_linalg_extractdiag", "A diagonal of each square matrix.", InferExtract<DiagonalParam>,
                            ExtractReference<DiagonalParam>);
[[maybe_unused]] const auto kMakeDiagonal =
    Register<DiagonalParam>("_linalg_makediag", "Square matrices with vectors on a diagonal.", InferMake<DiagonalParam>,
                            MakeReference<DiagonalParam>);
[[maybe_unused]] const auto kExtractTriangle =
    Register<TrianParam>("_linalg_extracttrian", "A triangle of each square matrix, row by row.",
                         InferExtract<TrianParam>, ExtractReference<TrianParam>);
[[maybe_unused]] const auto kMakeTriangle =
    Register<TrianParam>("_linalg_maketrian", "Square matrices with vectors in a triangle, row by row.",
                         InferMake<TrianParam>, MakeReference<TrianParam>);

[[maybe_unused]] const auto kSumLogDiagonal =
    RegisterOp<NoParam>("_linalg_sumlogdiag")
        .Alias("linalg_sumlogdiag")
        .Doc("The sum of the logarithms of the diagonal of each square matrix.")
        .Inputs({"A"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          if (!r.in(0).fully_known()) return;
          RequireSquare(r.node(), r.in(0));
          r.Out(0, r.in(0).rank() == 2 ? Shape{1} : Stacked(r.in(0), r.in(0).rank() - 2, {}));
        }})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(GradientRule{[](GradientContext& c) {
          const Term inverse = Unary("reciprocal", c.Call("_linalg_extractdiag", {c.in(0)}));
          const Term repeated = c.Call("_backward_sum", {c.gradient(), inverse}, {{"axis", "(-1,)"}});
          c.Set(0, c.Call("_linalg_makediag", {repeated * inverse}));
        }})
        .Set(ReferenceKernel{[](const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
          const std::int64_t size = ColumnsOf(in[0].shape());
          const std::vector<double> x = Numbers<double>(in[0]);
          std::vector<double> sums(static_cast<std::size_t>(out[0].size()), 0);
          for (std::int64_t i = 0; i < std::ssize(sums) * size; ++i) {
            sums[static_cast<std::size_t>(i / size)] += std::log(x[(i / size * size + i % size) * size + i % size]);
          }
          Store(sums, out[0]);
        }});

// ---- inverses and determinants ----

// A square matrix in triangles, by elimination with the largest pivots.
class Eliminated {
 public:
  Eliminated(const double* a, std::int64_t size)
      : size_(size), a_(a, a + size * size), rows_(static_cast<std::size_t>(size)) {
    std::iota(rows_.begin(), rows_.end(), 0);
    for (std::int64_t k = 0; k < size; ++k) Eliminate(k);
  }

  double sign() const {
    double sign = sign_;
    for (std::int64_t i = 0; i < size_; ++i) sign *= Pivot(i) > 0 ? 1 : Pivot(i) < 0 ? -1 : 0;
    return sign;
  }
  double LogMagnitude() const {
    double sum = 0;
    for (std::int64_t i = 0; i < size_; ++i) sum += std::log(std::abs(Pivot(i)));
    return sum;
  }
  double Determinant() const {
    double product = sign_;
    for (std::int64_t i = 0; i < size_; ++i) product *= Pivot(i);
    return product;
  }
  void Invert(double* inverse) const {
    const Triangle lower{a_.data(), size_, false, true}, upper{a_.data(), size_, false, false};
    for (std::int64_t column = 0; column < size_; ++column) {
      std::vector<double> x(static_cast<std::size_t>(size_));
      for (std::int64_t i = 0; i < size_; ++i) {
        double sum = rows_[static_cast<std::size_t>(i)] == column ? 1 : 0;
        for (std::int64_t k = 0; k < i; ++k) sum -= lower.At(i, k) * x[static_cast<std::size_t>(k)];
        x[static_cast<std::size_t>(i)] = sum;
      }
      upper.Solve(x.data(), 1);
      for (std::int64_t i = 0; i < size_; ++i) inverse[i * size_ + column] = x[static_cast<std::size_t>(i)];
    }
  }

 private:
  double Pivot(std::int64_t i) const { return a_[static_cast<std::size_t>(i * size_ + i)]; }

  void Eliminate(std::int64_t k) {
    double* a = a_.data();
    std::int64_t best = k;
    for (std::int64_t i = k + 1; i < size_; ++i) {
      if (std::abs(a[i * size_ + k]) > std::abs(a[best * size_ + k])) best = i;
    }
    if (best != k) {
      std::swap_ranges(a + k * size_, a + (k + 1) * size_, a + best * size_);
      std::swap(rows_[static_cast<std::size_t>(k)], rows_[static_cast<std::size_t>(best)]);
      sign_ = -sign_;
    }
    if (Pivot(k) == 0) return;
    for (std::int64_t i = k + 1; i < size_; ++i) {
      const double factor = a[i * size_ + k] /= Pivot(k);
      for (std::int64_t j = k + 1; j < size_; ++j) a[i * size_ + j] -= factor * a[k * size_ + j];
    }
  }

  std::int64_t size_;
  std::vector<double> a_;  // the upper triangle, and below it the factors of the elimination
  std::vector<std::int64_t> rows_;
  double sign_ = 1;
};

// Calls f(i, elimination) for each matrix.
template <class F>
void ForEachMatrix(const NDArray& in, F&& f) {
  const std::int64_t size = ColumnsOf(in.shape());
  const std::vector<double> a = Numbers<double>(in);
  kernels::ParallelFor(CountOf(in.shape()), 1,
                       [&](std::int64_t i) { f(i, Eliminated(a.data() + i * size * size, size)); });
}

OpDefinition<NoParam> RegisterSquare(const char* name, const char* doc) {
  return RegisterOp<NoParam>(name)
      .Alias(std::string(name).substr(1))
      .Doc(doc)
      .Inputs({"A"})
      .Set(SameFloatDType())
      .Set(AmpFacts{Arithmetic::kNeedsFloat32});
}

// One number for each matrix in every output.
void InferNumbers(ShapeRelation& r) {
  if (!r.in(0).fully_known()) return;
  RequireSquare(r.node(), r.in(0));
  const Shape numbers = r.in(0).rank() == 2 ? Shape{1} : Stacked(r.in(0), r.in(0).rank() - 2, {});
  for (int i = 0; i < r.num_outputs(); ++i) r.Out(i, numbers);
}

Term InverseTransposed(GradientContext& c) {
  return c.Call("SwapAxis", {c.Call("_linalg_inverse", {c.in(0)})}, {{"dim1", "-1"}, {"dim2", "-2"}});
}

// The gradient of a matrix from that of a number of it, by a derivative of the inverse's form.
void SetByInverse(GradientContext& c, const Term& gradient) {
  c.Set(0, ReshapeLike(BesideMatrices(gradient) * InverseTransposed(c), c.in(0)));
}

[[maybe_unused]] const auto kInverse =
    RegisterSquare("_linalg_inverse", "The inverse of each square matrix.")
        .Set(ShapeRule{[](ShapeRelation& r) {
          r.AllSame();
          if (r.in(0).fully_known()) RequireSquare(r.node(), r.in(0));
        }})
        .Set(GradientRule{[](GradientContext& c) {
          c.Set(0, -Product(Product(c.out(), c.gradient(), true, false), c.out(), false, true));
        }})
        .Set(ReferenceKernel{[](const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
          const std::int64_t size = in[0].shape().rank() < 2 ? 0 : ColumnsOf(in[0].shape());
          std::vector<double> inverses(static_cast<std::size_t>(out[0].size()));
          ForEachMatrix(in[0], [&](std::int64_t i, const Eliminated& matrix) {
            matrix.Invert(inverses.data() + i * size * size);
          });
          Store(inverses, out[0]);
        }});

[[maybe_unused]] const auto kDeterminant =
    RegisterSquare("_linalg_det", "The determinant of each square matrix.")
        .Set(ShapeRule{InferNumbers})
        .Set(GradientRule{[](GradientContext& c) { SetByInverse(c, c.gradient() * c.out()); }})
        .Set(ReferenceKernel{[](const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
          std::vector<double> values(static_cast<std::size_t>(out[0].size()));
          ForEachMatrix(in[0], [&](std::int64_t i, const Eliminated& matrix) { values[i] = matrix.Determinant(); });
          Store(values, out[0]);
        }});

[[maybe_unused]] const auto kLogDeterminant =
    RegisterSquare("_linalg_slogdet",
                   "The sign of each square matrix's determinant, and the logarithm of its magnitude.")
        .Outputs({"sign", "logabsdet"})
        .VisibleOutputs([](const NoParam&) { return 2; })
        .Set(ShapeRule{InferNumbers})
        .Set(GradientRule{[](GradientContext& c) {
          if (c.has_gradient(1)) SetByInverse(c, c.gradient(1));  // signs do not change
        }})
        .Set(ReferenceKernel{[](const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
          std::vector<double> signs(static_cast<std::size_t>(CountOf(in[0].shape()))), logarithms(signs.size());
          ForEachMatrix(in[0], [&](std::int64_t i, const Eliminated& matrix) {
            signs[i] = matrix.sign();
            logarithms[i] = matrix.LogMagnitude();
          });
          if (out[0].defined()) Store(signs, out[0]);
          if (out[1].defined()) Store(logarithms, out[1]);
        }});

}  // namespace
}  // namespace amp
