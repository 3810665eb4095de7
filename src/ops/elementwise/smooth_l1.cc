// smooth_l1: the absolute value, rounded off around 0.
#include <cmath>

#include "ops/common/map_rules.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::smooth_l1 {
namespace {

struct SmoothL1Param {
  double scalar = 1;
};

double SmoothL1(double x, double scalar) {
  const double bound = 1 / (scalar * scalar), size = std::abs(x);
  return size < bound ? 0.5 * (scalar * x) * (scalar * x) : size - 0.5 * bound;
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  std::vector<double> values = Numbers<double>(in[0]);
  for (double& value : values) value = SmoothL1(value, node.params<SmoothL1Param>().scalar);
  Store(values, out[0]);
}

bool Lower(LowerContext& c) {
  using kernels::MapOp;
  const double scalar = c.node().params<SmoothL1Param>().scalar, bound = 1 / (scalar * scalar);
  const auto limit = static_cast<float>(bound), half = static_cast<float>(-0.5 * bound);
  return LowerToMap(c, {{.op = MapOp::kAbs, .x = 0},
                        {.op = MapOp::kConstant, .alpha = limit},
                        {.op = MapOp::kLess, .x = 1, .y = 2},
                        {.op = MapOp::kLinear, .x = 0, .alpha = static_cast<float>(scalar)},
                        {.op = MapOp::kSquare, .x = 4},
                        {.op = MapOp::kLinear, .x = 5, .alpha = 0.5f},
                        {.op = MapOp::kLinear, .x = 1, .alpha = 1, .beta = half},
                        {.op = MapOp::kSelect, .x = 3, .y = 6, .z = 7}});
}

[[maybe_unused]] const auto kCard =
    RegisterOp<SmoothL1Param>("smooth_l1")
        .Alias("_npx_smooth_l1")
        .Doc("(scalar * data)^2 / 2 where |data| < 1 / scalar^2, elsewhere |data| - 0.5 / scalar^2.")
        .Params(ParamSchema<SmoothL1Param>().Optional("scalar", &SmoothL1Param::scalar, "Where the square ends."))
        .Inputs({"data"})
        .Set(SameShape())
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kElementwise})
        .Set(ConstantRange({0, ValueRange::kInfinity}))
        .Set(GradientRule{[](GradientContext& c) {
          const double square = c.params<SmoothL1Param>().scalar * c.params<SmoothL1Param>().scalar;
          const Term line = square * c.in(0);
          c.Set(0, c.gradient() * c.Call("clip", {line}, {{"a_min", "-1.0"}, {"a_max", "1.0"}}));
        }})
        .Set(ReferenceKernel{Reference})
        .Set(KernelRule{Lower});

}  // namespace
}  // namespace amp::smooth_l1
