// _linalg_gelqf: matrices as products of a lower triangle and orthonormal rows.
#include <algorithm>
#include <cmath>

#include "kernels/threads/parallel.h"
#include "ops/common/matrices.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/linalg/triangle.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::linalg_gelqf {
namespace {

// x - 2 (v x) v / (v v), where v begins with 1.
struct Reflection {
  std::vector<double> tail;  // of v
  double factor = 0;         // 2 / (v v); 0: the identity

  void Apply(double* x) const {
    if (factor == 0) return;
    double product = x[0];
    for (std::size_t i = 0; i < tail.size(); ++i) product += tail[i] * x[i + 1];
    x[0] -= factor * product;
    for (std::size_t i = 0; i < tail.size(); ++i) x[i + 1] -= factor * product * tail[i];
  }
};

double NormOf(const double* x, std::int64_t size) {
  double largest = 0, sum = 0;
  for (std::int64_t i = 0; i < size; ++i) largest = std::max(largest, std::abs(x[i]));
  if (largest == 0) return 0;
  for (std::int64_t i = 0; i < size; ++i) sum += (x[i] / largest) * (x[i] / largest);
  return largest * std::sqrt(sum);
}

// Maps x to a multiple of the first axis whose sign is not that of x[0]: nothing cancels. What lies there already
// stays.
Reflection ReflectionOf(const double* x, std::int64_t size) {
  const double rest = NormOf(x + 1, size - 1);
  if (rest == 0) return {};
  const double length = std::copysign(std::hypot(x[0], rest), x[0]), first = x[0] + length;
  Reflection reflection{std::vector<double>(x + 1, x + size)};
  for (double& v : reflection.tail) v /= first;
  reflection.factor = first / length;
  return reflection;
}

// Reflections of columns make `a` (rows, columns) a lower triangle; the same make q of rows of the identity.
void Factor(std::vector<double> a, std::int64_t rows, std::int64_t columns, double* q, double* lower) {
  std::vector<Reflection> reflections;
  for (std::int64_t i = 0; i < rows; ++i) {
    reflections.push_back(ReflectionOf(a.data() + i * columns + i, columns - i));
    for (std::int64_t row = i; row < rows; ++row) reflections.back().Apply(a.data() + row * columns + i);
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    std::copy_n(a.data() + i * columns, i + 1, lower + i * rows);
    std::fill_n(lower + i * rows + i + 1, rows - i - 1, 0.0);
    std::fill_n(q + i * columns, columns, 0.0);
    q[i * columns + i] = 1;
  }
  for (std::int64_t i = rows - 1; i >= 0; --i) {
    for (std::int64_t row = i; row < rows; ++row) {
      reflections[static_cast<std::size_t>(i)].Apply(q + row * columns + i);
    }
  }
}

void Reference(const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
  const Shape& shape = in[0].shape();
  const std::int64_t rows = RowsOf(shape), columns = ColumnsOf(shape), count = CountOf(shape);
  const std::vector<double> a = Numbers<double>(in[0]);
  std::vector<double> q(a.size()), lower(static_cast<std::size_t>(count * rows * rows));
  kernels::ParallelFor(count, 1, [&](std::int64_t i) {
    const auto first = a.begin() + i * rows * columns;
    Factor({first, first + rows * columns}, rows, columns, q.data() + i * rows * columns,
           lower.data() + i * rows * rows);
  });
  if (out[0].defined()) Store(q, out[0]);
  if (out[1].defined()) Store(lower, out[1]);
}

void InferShape(ShapeRelation& r) {
  r.Out(0, r.in(0));
  r.In(0, r.out(0));
  const Shape& shape = r.in(0);
  if (!shape.fully_known()) return;
  if (shape.rank() < 2 || RowsOf(shape) > ColumnsOf(shape)) {
    FailAt(r.node(), "expected matrices with at least as many columns as rows, got {}", shape.ToString());
  }
  r.Out(1, Stacked(shape, shape.rank() - 1, {RowsOf(shape)}));
}

void Gradient(GradientContext& c) {
  const Term q = c.out(0), lower = c.out(1);
  const Term inner =
      Triangular("_linalg_trmm", lower, c.gradient(1), {true, false, true, 1}) - Product(c.gradient(0), q, false, true);
  const Term sum = c.gradient(0) + Product(SymmetricOf(inner, true), q);
  c.Set(0, Triangular("_linalg_trsm", lower, sum, {true, false, true, 1}));
}

[[maybe_unused]] const auto kCard =
    RegisterOp<NoParam>("_linalg_gelqf")
        .Alias("linalg_gelqf")
        .Doc("Q and L with A = L Q for each matrix A: rows of Q are orthonormal, L is a lower triangle.")
        .Inputs({"A"})
        .Outputs({"Q", "L"})
        .VisibleOutputs([](const NoParam&) { return 2; })
        .Set(ShapeRule{InferShape})
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(GradientRule{Gradient})
        .Set(ReferenceKernel{Reference});

}  // namespace
}  // namespace amp::linalg_gelqf
