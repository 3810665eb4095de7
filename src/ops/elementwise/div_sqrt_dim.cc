// _contrib_div_sqrt_dim: scores scaled by the size of what they are sums over.
#include <cmath>
#include <type_traits>

#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::div_sqrt_dim {
namespace {

double RootOf(const Shape& data) { return std::sqrt(static_cast<double>(data[data.rank() - 1])); }

[[maybe_unused]] const auto kCard =
    RegisterOp<NoParam>("_contrib_div_sqrt_dim")
        .Doc("The data divided by the square root of the size of its last axis.")
        .Inputs({"data"})
        .Set(ShapeRule{[](ShapeRelation& r) {
          r.AllSame();
          if (r.in(0).rank_known() && r.in(0).rank() == 0) FailAt(r.node(), "expected data of rank 1 or more");
        }})
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kElementwise})
        .Set(AlwaysAlgebra(Algebra::kMultiple))
        .Set(RangeRule{[](const RangeQuery& q, int) {
          const Shape& data = q.in_types[0]->shape;
          return data.fully_known() ? Quotient(q.in[0], ValueRange::Of(RootOf(data))) : Hull(q.in[0], {0, 0});
        }})
        .Set(GradientRule{[](GradientContext& c) { c.Set(0, c.Call("_contrib_div_sqrt_dim", {c.gradient()})); }})
        .Set(ReferenceKernel{[](const Node&, std::span<const NDArray> in, std::span<NDArray> out) {
          const double root = RootOf(in[0].shape());
          MapElements(in[0], out[0], [root](auto x) {
            using T = decltype(x);
            if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<double>(x) / root);
            return x / static_cast<T>(root);
          });
        }})
        .Set(LowerRule{[](LowerContext& c) {
          const double root = RootOf(c.in_type(0).shape);
          if (root == 0 || !IsFloat(c.out_type(0).dtype)) return false;
          const EltwiseSpec work{EltwiseKind::kLinear, static_cast<float>(1 / root), 0};
          c.SetOut(0, c.Emit(work, {c.in(0)}, c.out_type(0)));
          return true;
        }});

}  // namespace
}  // namespace amp::div_sqrt_dim
