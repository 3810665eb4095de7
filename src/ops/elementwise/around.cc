// _npi_around: numbers with a given number of decimals.
#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/common/map_rules.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::around {
namespace {

struct AroundParam {
  std::int64_t decimals = 0;
};

template <class T>
T Around(T x, T power, bool left_of_point) {
  const T scaled = left_of_point ? x / power : x * power;
  if (!std::isfinite(scaled)) return x;
  return left_of_point ? std::nearbyint(scaled) * power : std::nearbyint(scaled) / power;
}

// Integers are cut off, not rounded: so does MXNet.
std::int64_t CutOff(std::int64_t x, double power) {
  if (!(power < 9e18)) return 0;
  const auto unit = static_cast<std::int64_t>(power);
  return x / unit * unit;
}

void Reference(const Node& node, const NDArray& in, NDArray& out) {
  const std::int64_t decimals = node.params<AroundParam>().decimals;
  const double power = std::pow(10.0, std::fabs(static_cast<double>(decimals)));
  MapElements(in, out, [=](auto x) {
    using T = decltype(x);
    if constexpr (std::is_integral_v<T>) {
      return decimals < 0 ? CutOff(x, power) : x;
    } else {
      return Around(x, static_cast<T>(power), decimals < 0);
    }
  });
}

double Nearest(double x) { return std::nearbyint(x); }

bool Lower(LowerContext& c) {
  using kernels::MapOp;
  const std::int64_t decimals = c.node().params<AroundParam>().decimals;
  const auto power = static_cast<float>(std::pow(10.0, std::fabs(static_cast<double>(decimals))));
  const MapOp to = decimals < 0 ? MapOp::kDiv : MapOp::kMul, back = decimals < 0 ? MapOp::kMul : MapOp::kDiv;
  return LowerToMap(c, {{.op = MapOp::kConstant, .alpha = power},
                        {.op = to, .x = 0, .y = 1},
                        {.op = MapOp::kFunction, .x = 2, .function = Nearest},
                        {.op = back, .x = 3, .y = 1},
                        {.op = MapOp::kAbs, .x = 2},
                        {.op = MapOp::kConstant, .alpha = std::numeric_limits<float>::infinity()},
                        {.op = MapOp::kLess, .x = 5, .y = 6},
                        {.op = MapOp::kSelect, .x = 7, .y = 4, .z = 0}});
}

[[maybe_unused]] const auto kCard =
    RegisterOp<AroundParam>("_npi_around")
        .Doc("Rounded to decimals, in the middle to the even one; integers are cut off left of the point.")
        .Params(ParamSchema<AroundParam>()
                    .Optional("decimals", &AroundParam::decimals, "How many; negative ones left of the point.")
                    .Range(-400, 400))
        .Inputs({"x"})
        .Set(SameShape())
        .Set(DTypeRule{[](DTypeRelation& r) {
          r.AllSame();
          if (r.in(0) == DType::kBool) FailAt(r.node(), "expected x of numbers, got bool");
        }})
        .Set(AmpFacts{Arithmetic::kElementwise})
        .Set(IsElementwise{})
        .Set(AllInputs(Sensitivity::kDiscontinuous))
        .Set(RangeRule{[](const RangeQuery& q, int) {
          const auto decimals = static_cast<double>(q.node.params<AroundParam>().decimals);
          const ValueRange& in = q.in[0];
          if (decimals <= 0 && in.is_integer && decimals == 0) return in;
          const double unit = std::pow(10, -decimals);  // more than the half by which rounding changes a number
          return ValueRange::Between(in.low - unit, in.high + unit, decimals <= 0);
        }})
        .Set(ZeroGradient{"it changes by steps"})
        .Set(ReferenceKernel{[](const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
          Reference(node, in[0], out[0]);
        }})
        .Set(KernelRule{Lower});

}  // namespace
}  // namespace amp::around
