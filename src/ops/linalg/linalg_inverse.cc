// Inverses and determinants of matrices.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/threads/parallel.h"
#include "ops/common/matrices.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/linalg/triangle.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::linalg_inverse {
namespace {

// One number for each matrix, beside its elements.
Term BesideMatrices(const Term& numbers) {
  const auto expand = [](const Term& x) { return x.context().Call("expand_dims", {x}, {{"axis", "-1"}}); };
  return expand(expand(numbers));
}

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

Term InverseTransposed(GradientContext& c) { return TransposedOf(c.Call("_linalg_inverse", {c.in(0)})); }

// The gradient of a matrix from that of a number of it, by a derivative of the inverse's form.
void SetByInverse(GradientContext& c, const Term& gradient) {
  c.Set(0, ReshapeLike(BesideMatrices(gradient) * InverseTransposed(c), c.in(0)));
}

[[maybe_unused]] const auto kInverse =
    RegisterSquare("_linalg_inverse", "The inverse of each square matrix.")
        .Alias("_npi_inv")
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
        .Alias("_npi_det")
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
        .Alias("_npi_slogdet")
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
}  // namespace amp::linalg_inverse
