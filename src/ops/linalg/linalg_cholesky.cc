// Cholesky factors of symmetric positive definite matrices, and inverses from such factors.
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

namespace amp::linalg_cholesky {
namespace {

struct CholeskyParam {
  bool lower = true;
};

// Writes the triangle of one matrix's factor. Returns the first pivot that is not above zero, and -1 where all are.
std::int64_t Factor(const double* a, std::int64_t size, bool lower, double* factor) {
  const auto place = [&](std::int64_t i, std::int64_t j) { return lower ? i * size + j : j * size + i; };
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      double rest = a[place(i, j)];
      for (std::int64_t k = 0; k < j; ++k) rest -= factor[place(i, k)] * factor[place(j, k)];
      if (i == j && !(rest > 0)) return i;
      factor[place(i, j)] = i == j ? std::sqrt(rest) : rest / factor[place(j, j)];
    }
  }
  return -1;
}

void FactorReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const bool lower = node.params<CholeskyParam>().lower;
  const std::int64_t size = ColumnsOf(in[0].shape()), count = CountOf(in[0].shape());
  const std::vector<double> a = Numbers<double>(in[0]);
  std::vector<double> factors(a.size(), 0);
  std::vector<std::int64_t> failures(static_cast<std::size_t>(count));
  kernels::ParallelFor(count, 1, [&](std::int64_t i) {
    failures[i] = Factor(a.data() + i * size * size, size, lower, factors.data() + i * size * size);
  });
  for (std::int64_t i = 0; i < count; ++i) {
    if (failures[i] >= 0) {
      FailAt(node, "matrix {} of {} is not positive definite: its leading {} rows and columns are not", i, count,
             failures[i] + 1);
    }
  }
  Store(factors, out[0]);
}

// Computes (T T^T)^-1, where T is the lower triangle that `factor` is or whose transpose it is.
void Invert(const double* factor, std::int64_t size, bool lower, double* inverse) {
  const Triangle below{factor, size, !lower, lower}, above{factor, size, lower, lower};
  std::vector<double> column(static_cast<std::size_t>(size));
  for (std::int64_t j = 0; j < size; ++j) {
    std::fill(column.begin(), column.end(), 0.0);
    column[static_cast<std::size_t>(j)] = 1;
    below.Solve(column.data(), 1);
    above.Solve(column.data(), 1);
    for (std::int64_t i = j; i < size; ++i) {
      inverse[i * size + j] = inverse[j * size + i] = column[static_cast<std::size_t>(i)];
    }
  }
}

void InverseReference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const bool lower = node.params<CholeskyParam>().lower;
  const std::int64_t size = ColumnsOf(in[0].shape());
  const std::vector<double> factors = Numbers<double>(in[0]);
  std::vector<double> inverses(factors.size());
  kernels::ParallelFor(CountOf(in[0].shape()), 1, [&](std::int64_t i) {
    Invert(factors.data() + i * size * size, size, lower, inverses.data() + i * size * size);
  });
  Store(inverses, out[0]);
}

// The gradient of the symmetric matrices, as in MXNet, though one triangle is read.
void FactorGradient(GradientContext& c) {
  const bool lower = c.params<CholeskyParam>().lower;
  const Term factor = c.out();
  const Term inner = Triangular("_linalg_trmm", factor, c.gradient(), {true, !lower, lower, 1});
  const Term left = Triangular("_linalg_trsm", factor, SymmetricOf(inner, lower), {lower, false, lower, 1});
  c.Set(0, Triangular("_linalg_trsm", factor, left, {!lower, true, lower, 0.5}));
}

void InverseGradient(GradientContext& c) {
  const bool lower = c.params<CholeskyParam>().lower;
  const Term both = c.gradient() + TransposedOf(c.gradient());
  const Term product = lower ? Product(c.out(), both) : Product(both, c.out());
  c.Set(0, TriangleOf(Triangular("_linalg_trsm", c.in(0), product, {true, lower, lower, -1}), lower));
}

OpDefinition<CholeskyParam> Register(const char* name, const char* doc) {
  return RegisterOp<CholeskyParam>(name)
      .Alias(std::string(name).substr(1))
      .Doc(doc)
      .Params(ParamSchema<CholeskyParam>().Optional("lower", &CholeskyParam::lower,
                                                    "The factors are lower triangular; else upper."))
      .Inputs({"A"})
      .Set(ShapeRule{[](ShapeRelation& r) {
        r.AllSame();
        if (r.in(0).fully_known()) RequireSquare(r.node(), r.in(0));
      }})
      .Set(SameFloatDType())
      .Set(AmpFacts{Arithmetic::kNeedsFloat32});
}

[[maybe_unused]] const auto kFactor =
    Register(
        "_linalg_potrf",
        "The Cholesky factor of each symmetric positive definite matrix A: L with A = L L^T, or U with A = U^T U.\n"
        "Of A the triangle that the factor has is read.")
        .Alias("_npi_cholesky")
        .Set(GradientRule{FactorGradient})
        .Set(ReferenceKernel{FactorReference});

[[maybe_unused]] const auto kInverse =
    Register("_linalg_potri", "The inverse of each matrix whose Cholesky factor is A: of A A^T, or of A^T A.")
        .Set(GradientRule{InverseGradient})
        .Set(ReferenceKernel{InverseReference});

}  // namespace
}  // namespace amp::linalg_cholesky
