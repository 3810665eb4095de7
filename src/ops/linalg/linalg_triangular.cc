// Products and solutions with triangular matrices.
#include "kernels/threads/parallel.h"
#include "ops/common/matrices.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/linalg/triangle.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::linalg_triangular {
namespace {

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

// What the transpose of the operator makes of the gradient, without alpha.
Term Transposed(GradientContext& c, const char* op, double alpha) {
  const auto& p = c.params<TriangularParam>();
  return Triangular(op, c.in(0), c.gradient(), {!p.transpose, p.rightside, p.lower, alpha});
}

// A product in the order, and transposed, as A stands in the operator: of `out`, shaped as its result, and `in`, as B.
Term OuterProduct(const TriangularParam& p, const Term& out, const Term& in, double alpha) {
  const bool out_first = p.transpose == p.rightside;
  return out_first ? Product(out, in, p.rightside, !p.rightside, alpha)
                   : Product(in, out, p.rightside, !p.rightside, alpha);
}

void MultiplyGradient(GradientContext& c) {
  const auto& p = c.params<TriangularParam>();
  if (c.is_asked(0)) c.Set(0, TriangleOf(OuterProduct(p, c.gradient(), c.in(1), p.alpha), p.lower));
  if (c.is_asked(1)) c.Set(1, Transposed(c, "_linalg_trmm", p.alpha));
}

void SolveGradient(GradientContext& c) {
  const auto& p = c.params<TriangularParam>();
  const Term solved = Transposed(c, "_linalg_trsm", 1);
  if (c.is_asked(0)) c.Set(0, TriangleOf(OuterProduct(p, solved, c.out(), -1), p.lower));
  if (c.is_asked(1)) c.Set(1, solved * p.alpha);
}

OpDefinition<TriangularParam> RegisterTriangular(const char* name, const char* doc) {
  return RegisterOp<TriangularParam>(name)
      .Doc(doc)
      .Params(ParamSchema<TriangularParam>()
                  .Optional("transpose", &TriangularParam::transpose, "Use the transpose of A.")
                  .Optional("rightside", &TriangularParam::rightside, "A stands on the right.")
                  .Optional("lower", &TriangularParam::lower, "A is lower triangular; its other elements are not read.")
                  .Optional("alpha", &TriangularParam::alpha, "ComputeType B."))
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

}  // namespace
}  // namespace amp::linalg_triangular
