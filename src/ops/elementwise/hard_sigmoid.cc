// hard_sigmoid: a line, clipped.
#include <algorithm>
#include <cmath>

#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::hard_sigmoid {
namespace {

struct HardSigmoidParam {
  double alpha = 0.2;
  double beta = 0.5;
};

[[maybe_unused]] const auto kCard =
    RegisterOp<HardSigmoidParam>("hard_sigmoid")
        .Doc("alpha * data + beta, clipped to [0, 1].")
        .Params(ParamSchema<HardSigmoidParam>()
                    .Optional("alpha", &HardSigmoidParam::alpha, "The slope.")
                    .Optional("beta", &HardSigmoidParam::beta, "The value at 0."))
        .Inputs({"data"})
        .Set(SameShape())
        .Set(SameFloatDType())
        .Set(AmpFacts{Arithmetic::kElementwise})
        .Set(IsElementwise{})
        .Set(ConstantRange({0, 1}))
        .Set(GradientRule{[](GradientContext& c) {
          c.Set(0, c.params<HardSigmoidParam>().alpha * c.gradient() * ((c.out() > 0) * (c.out() < 1)));
        }})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          const auto& p = node.params<HardSigmoidParam>();
          WithFloatType(in[0].dtype(), [&](auto zero) {
            using T = decltype(zero);
            std::vector<T> values = Numbers<T>(in[0]);
            for (T& x : values) {
              const T line = static_cast<T>(p.alpha) * x + static_cast<T>(p.beta);
              x = line > 1 ? T{1} : line < 0 ? T{0} : line;  // NaN stays NaN
            }
            Store(values, out[0]);
          });
        }})
        .Set(LowerRule{[](LowerContext& c) {
          const auto& p = c.node().params<HardSigmoidParam>();
          const EltwiseSpec work{EltwiseKind::kHardSigmoid, static_cast<float>(p.alpha), static_cast<float>(p.beta)};
          c.SetOut(0, c.Emit(work, {c.in(0)}, c.out_type(0)));
          return true;
        }});

}  // namespace
}  // namespace amp::hard_sigmoid
