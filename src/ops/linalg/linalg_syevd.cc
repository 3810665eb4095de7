// _linalg_syevd: eigenvalues and eigenvectors of symmetric matrices.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/threads/parallel.h"
#include "ops/common/matrices.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::linalg_syevd {
namespace {

constexpr int kSweeps = 64;  // rotations converge quadratically: ten are many

// Jacobi's method: rotations of two axes at a time make a symmetric matrix diagonal.
class Rotated {
 public:
  // Reads the lower triangle of `a`.
  Rotated(const double* a, std::int64_t size)
      : size_(size), a_(static_cast<std::size_t>(size * size)), axes_(a_.size(), 0) {
    for (std::int64_t i = 0; i < size; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) A(i, j) = A(j, i) = a[i * size + j];
      axes_[static_cast<std::size_t>(i * size + i)] = 1;
    }
    double largest = 0;
    for (const double x : a_) largest = std::max(largest, std::abs(x));
    negligible_ = 0x1p-58 * largest;
    int sweeps = 0;
    while (Sweep() && ++sweeps < kSweeps) continue;
  }

  double Eigenvalue(std::int64_t i) const { return a_[static_cast<std::size_t>(i * size_ + i)]; }
  std::span<const double> Eigenvector(std::int64_t i) const {
    return {axes_.data() + i * size_, static_cast<std::size_t>(size_)};
  }

 private:
  double& A(std::int64_t i, std::int64_t j) { return a_[static_cast<std::size_t>(i * size_ + j)]; }

  // Returns whether there was something to rotate.
  bool Sweep() {
    bool rotated = false;
    for (std::int64_t p = 0; p < size_; ++p) {
      for (std::int64_t q = p + 1; q < size_; ++q) {
        if (std::abs(A(p, q)) <= negligible_) continue;
        Rotate(p, q);
        rotated = true;
      }
    }
    return rotated;
  }

  // Rotates by the smaller of the angles that make A(p, q) zero.
  void Rotate(std::int64_t p, std::int64_t q) {
    const double ratio = (A(q, q) - A(p, p)) / (2 * A(p, q));
    const double tangent = std::copysign(1, ratio) / (std::abs(ratio) + std::hypot(ratio, 1));
    const double cosine = 1 / std::hypot(tangent, 1), sine = tangent * cosine;
    const double moved = tangent * A(p, q);
    const auto rotate = [&](double& x, double& y) {
      const double before = x;
      x = cosine * before - sine * y;
      y = sine * before + cosine * y;
    };
    for (std::int64_t i = 0; i < size_; ++i) {
      rotate(axes_[static_cast<std::size_t>(p * size_ + i)], axes_[static_cast<std::size_t>(q * size_ + i)]);
      if (i == p || i == q) continue;
      rotate(A(p, i), A(q, i));
      A(i, p) = A(p, i);
      A(i, q) = A(q, i);
    }
    A(p, p) -= moved;
    A(q, q) += moved;
    A(p, q) = A(q, p) = 0;
  }

  std::int64_t size_;
  std::vector<double> a_, axes_;  // axes: the rows
  double negligible_ = 0;
};

// Ascending eigenvalues; the element of largest magnitude of each eigenvector is positive.
void Decompose(const double* a, std::int64_t size, double* vectors, double* values) {
  if (!std::all_of(a, a + size * size, [](double x) { return std::isfinite(x); })) {
    std::fill_n(vectors, size * size, std::numeric_limits<double>::quiet_NaN());
    std::fill_n(values, size, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const Rotated rotated(a, size);
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t i, std::int64_t j) { return rotated.Eigenvalue(i) < rotated.Eigenvalue(j); });
  for (const std::int64_t i : order) {
    const std::span<const double> vector = rotated.Eigenvector(i);
    const auto largest =
        std::max_element(vector.begin(), vector.end(), [](double x, double y) { return std::abs(x) < std::abs(y); });
    const double sign = *largest < 0 ? -1 : 1;
    vectors = std::transform(vector.begin(), vector.end(), vectors, [sign](double x) { return sign * x; });
    *values++ = rotated.Eigenvalue(i);
  }
}

void Reference(const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
  const std::int64_t size = ColumnsOf(in[0].shape()), count = CountOf(in[0].shape());
  const std::vector<double> a = Numbers<double>(in[0]);
  std::vector<double> vectors(a.size()), values(static_cast<std::size_t>(count * size));
  kernels::ParallelFor(count, 1, [&](std::int64_t i) {
    Decompose(a.data() + i * size * size, size, vectors.data() + i * size * size, values.data() + i * size);
  });
  if (out[0].defined()) Store(vectors, out[0]);
  if (out[1].defined()) Store(values, out[1]);
}

void InferShape(ShapeRelation& r) {
  r.Out(0, r.in(0));
  r.In(0, r.out(0));
  const Shape& shape = r.in(0);
  if (!shape.fully_known()) return;
  RequireSquare(r.node(), shape);
  r.Out(1, Stacked(shape, shape.rank() - 1, {}));
}

// The gradient of symmetric matrices, as in MXNet. Vectors of equal eigenvalues have none; they count as constant.
void Gradient(GradientContext& c) {
  const Term u = c.out(0), values = c.out(1);
  Term inner = c.Call("_linalg_makediag", {c.gradient(1)});
  if (c.has_gradient(0)) {
    const Term gaps =
        c.Call("expand_dims", {values}, {{"axis", "-1"}}) - c.Call("expand_dims", {values}, {{"axis", "-2"}});
    const Term turns = Product(c.gradient(0), u, false, true);
    const Term is_same = IsEqual(gaps, Unary("zeros_like", gaps));
    inner = inner + ValueOrZero(1 - is_same, (turns - TransposedOf(turns)) / (2 * (gaps + is_same)));
  }
  c.Set(0, Product(Product(u, inner, true), u));
}

[[maybe_unused]] const auto kCard =
    RegisterOp<NoParam>("_linalg_syevd")
        .Doc(
            "U and L with U A = diag(L) U for each symmetric matrix A: rows of U are orthonormal eigenvectors, L are\n"
            "their eigenvalues in ascending order. Of A the lower triangle is read.")
        .Inputs({"A"})
        .Outputs({"U", "L"})
        .VisibleOutputs([](const NoParam&) { return 2; })
        .Set(ShapeRule{InferShape})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(GradientRule{Gradient})
        .Set(ReferenceKernel{Reference});

}  // namespace
}  // namespace amp::linalg_syevd
