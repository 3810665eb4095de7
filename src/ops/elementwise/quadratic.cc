// _contrib_quadratic: a polynomial of degree two of every element.
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::quadratic {
namespace {

struct QuadraticParam {
  double a = 0, b = 0, c = 0;
};

[[maybe_unused]] const auto kCard =
    RegisterOp<QuadraticParam>("_contrib_quadratic")
        .Alias("_npx_quadratic")
        .Doc("a x² + b x + c of every element x.")
        .Params(ParamSchema<QuadraticParam>()
                    .Optional("a", &QuadraticParam::a, "ComputeType the square.")
                    .Optional("b", &QuadraticParam::b, "ComputeType the element.")
                    .Optional("c", &QuadraticParam::c, "Is added."))
        .Inputs({"data"})
        .Set(SameShape())
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kElementwise})
        .Set(IsElementwise{})
        .Set(GradientRule{[](GradientContext& c) {
          const auto& p = c.params<QuadraticParam>();
          c.Set(0, c.gradient() * (c.in(0) * (2 * p.a) + p.b));
        }})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          const auto& p = node.params<QuadraticParam>();
          MapElements(in[0], out[0], [&p](auto x) {
            using T = decltype(x);
            return static_cast<T>(p.a) * x * x + static_cast<T>(p.b) * x + static_cast<T>(p.c);
          });
        }});

}  // namespace
}  // namespace amp::quadratic
