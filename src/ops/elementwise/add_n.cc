// add_n: the sum of any number of arrays.
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::add_n {
namespace {

struct AddNParam {
  std::int64_t num_args = 0;
};

void Reference(const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
  WithNumberType(out[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    // unsigned addition wraps
    using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
    std::vector<T> total = Numbers<T>(in[0]);
    for (std::size_t i = 1; i < in.size(); ++i) {
      const std::vector<T> x = Numbers<T>(in[i]);
      for (std::size_t k = 0; k < total.size(); ++k) {
        total[k] = static_cast<T>(static_cast<Sum>(total[k]) + static_cast<Sum>(x[k]));
      }
    }
    Store(total, out[0]);
  });
}

// In float32 up to the end: one rounding.
bool Lower(LowerContext& c) {
  const TensorType type{DType::kFloat32, c.out_type(0).shape};
  ValueId total = c.Cast(c.in(0), type.dtype);
  for (int i = 1; i < static_cast<int>(c.node().inputs().size()); ++i) {
    total = c.Emit(BinarySpec{BinaryKind::kAdd}, {total, c.Cast(c.in(i), type.dtype)}, type);
  }
  c.SetOut(0, c.Cast(total, c.out_type(0).dtype));
  return true;
}

// Partial sums are rounded.
ValueRange RangeOf(const RangeQuery& q, int) {
  ValueRange sum = ValueRange::Of(0), sizes = sum;
  for (const ValueRange& term : q.in) {
    sum = Sum(sum, term);
    sizes = Sum(sizes, Absolute(term));
  }
  if (!(sizes.high < ValueRange::kInfinity) || (sum.is_integer && sizes.high <= 0x1p24)) return sum;
  const double slack = 0x1p-23 * static_cast<double>(q.in.size()) * sizes.high;
  return {sum.low - slack, sum.high + slack, sum.is_integer};
}

[[maybe_unused]] const auto kCard =
    RegisterOp<AddNParam>("add_n")
        .Alias("_sparse_add_n")
        .Alias("ElementWiseSum")
        .Alias("_sparse_ElementWiseSum")
        .Alias("_npx_add_n")
        .Doc("The sum of arrays of one shape.")
        .Params(
            ParamSchema<AddNParam>().Required("num_args", &AddNParam::num_args, "Number of inputs.").Range(1, 1 << 20))
        .Variadic("num_args")
        .Inputs([](const AddNParam& p) { return NumberedNames("arg", p.num_args); })
        .Set(SameShape())
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kElementwise})
        .Set(IsElementwise{})
        .Set(AlwaysAlgebra(Algebra::kSum))
        .Set(RangeRule{RangeOf})
        .Set(PassGradient())
        .Set(ReferenceKernel{Reference})
        .Set(LowerRule{Lower});

}  // namespace
}  // namespace amp::add_n
