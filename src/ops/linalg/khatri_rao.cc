// khatri_rao: the products of the rows of matrices, column by column.
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/composition_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::khatri_rao {
namespace {

struct KhatriRaoParam {
  std::int64_t num_args = 1;
};

void InferShape(ShapeRelation& r) {
  std::int64_t columns = r.out(0).rank() == 2 ? r.out(0)[1] : kUnknownDim, rows = 1;
  for (int i = 0; i < r.num_inputs(); ++i) {
    const Shape& matrix = r.in(i);
    if (!matrix.rank_known()) {
      rows = kUnknownDim;
      continue;
    }
    const bool fits = matrix.rank() == 2 && (columns < 0 || matrix[1] < 0 || matrix[1] == columns);
    if (!fits && columns < 0) FailAt(r.node(), "expected matrices, got arg{} of shape {}", i, matrix.ToString());
    if (!fits)
      FailAt(r.node(), "expected a matrix with {} columns, got arg{} of shape {}", columns, i, matrix.ToString());
    if (columns < 0) columns = matrix[1];
    if (rows < 0 || matrix[0] < 0) {
      rows = kUnknownDim;
    } else if (__builtin_mul_overflow(rows, matrix[0], &rows)) {
      FailAt(r.node(), "the result has too many rows");
    }
  }
  for (int i = 0; i < r.num_inputs(); ++i) r.In(i, Shape{kUnknownDim, columns});
  r.Out(0, Shape{rows, columns});
}

float Multiply(float a, float b) { return a * b; }
double Multiply(double a, double b) { return a * b; }
// Wraps modulo 2^64.
std::int64_t Multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

void Reference(const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
  WithNumberType(out[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto columns = static_cast<std::size_t>(out[0].shape()[1]);
    std::vector<T> product(columns, T{1});
    for (const NDArray& matrix : in) {
      const std::vector<T> factors = Numbers<T>(matrix);
      std::vector<T> next;
      next.reserve(columns == 0 ? 0 : product.size() / columns * factors.size());
      for (std::size_t row = 0; row < product.size(); row += columns) {
        for (std::size_t i = 0; i < factors.size(); ++i) {
          next.push_back(Multiply(product[row + i % columns], factors[i]));
        }
      }
      product = std::move(next);
    }
    Store(product, out[0]);
  });
}

// Two at a time, each row of the first with all rows of the second, in float32 up to the end.
bool Lower(LowerContext& c) {
  if (!IsFloat(c.out_type(0).dtype) || c.out_type(0).dtype == DType::kFloat64) return false;
  const std::int64_t columns = c.out_type(0).shape[1];
  ValueId product = c.Cast(c.in(0), DType::kFloat32);
  std::int64_t rows = c.in_type(0).shape[0];
  for (int i = 1; i < static_cast<int>(c.node().inputs().size()); ++i) {
    const std::int64_t count = c.in_type(i).shape[0];
    const ValueId first = c.Reshape(product, Shape{rows, 1, columns});
    const ValueId second = c.Reshape(c.Cast(c.in(i), DType::kFloat32), Shape{1, count, columns});
    const TensorType type{DType::kFloat32, Shape{rows, count, columns}};
    rows *= count;
    product = c.Reshape(c.Emit(MapSpec{{{.op = kernels::MapOp::kMul, .x = 0, .y = 1}}}, {first, second}, type),
                        Shape{rows, columns});
  }
  c.SetOut(0, c.Cast(product, c.out_type(0).dtype));
  return true;
}

std::vector<Term> Compose(GradientContext& c) {
  Term product = c.in(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    const Term first = c.Call("expand_dims", {product}, {{"axis", "1"}});
    const Term second = c.Call("expand_dims", {c.in(i)}, {{"axis", "0"}});
    product = c.Call("Reshape", {first * second}, {{"shape", "(-3, 0)"}});
  }
  return {product};
}

[[maybe_unused]] const auto kCard =
    RegisterOp<KhatriRaoParam>("khatri_rao")
        .Doc(
            "The Khatri-Rao product of matrices with as many columns: column j is the Kronecker product of their\n"
            "columns j.")
        .Params(ParamSchema<KhatriRaoParam>()
                    .Required("num_args", &KhatriRaoParam::num_args, "Number of inputs.")
                    .Range(1, 1 << 20))
        .Variadic("num_args")
        .Inputs([](const KhatriRaoParam& p) { return NumberedNames("arg", p.num_args); })
        .Set(ShapeRule{InferShape})
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kNeedsFloat32})
        .Set(CompositionRule(Compose))
        .Set(ReferenceKernel{Reference})
        .Set(LowerRule{Lower});

}  // namespace
}  // namespace amp::khatri_rao
