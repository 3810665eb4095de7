// _contrib_gradientmultiplier: the identity, whose gradient is scaled.
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::gradient_multiplier {
namespace {

struct MultiplierParam {
  double scalar = 1;
  bool is_int = true;
};

[[maybe_unused]] const auto kCard =
    RegisterOp<MultiplierParam>("_contrib_gradientmultiplier")
        .Doc("The input as it is; its gradient is that of the output times a number, such as -1 to reverse it.")
        .Params(ParamSchema<MultiplierParam>()
                    .Optional("scalar", &MultiplierParam::scalar, "ComputeType the gradient.")
                    .Optional("is_int", &MultiplierParam::is_int, "Whether the number was an integer; no effect."))
        .Inputs({"data"})
        .Set(SameShape())
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kMovesData, {}, AlwaysCommutes})
        .Set(IdentityFact{})
        .Set(IsView{})
        .Set(GradientRule{[](GradientContext& c) { c.Set(0, c.gradient() * c.params<MultiplierParam>().scalar); }})
        .Set(ReferenceKernel{
            [](const Node&, std::span<const NDArray> in, std::span<NDArray> out) { CopyElements(in[0], out[0]); }});

}  // namespace
}  // namespace amp::gradient_multiplier
