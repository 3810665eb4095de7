// _npi_nan_to_num: finite numbers in the place of others.
#include <cmath>
#include <limits>

#include "ops/common/map_rules.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::nan_to_num {
namespace {

struct NanToNumParam {
  bool copy = true;
  double nan = 0;
  std::optional<double> posinf, neginf;
};

double Largest(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 65504;
    case DType::kBFloat16:
      return 0x1.FEp127;
    case DType::kFloat32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

struct Replacements {
  double nan, high, low;
};

Replacements ReplacementsOf(const Node& node, DType dtype) {
  const auto& p = node.params<NanToNumParam>();
  return {p.nan, p.posinf.value_or(Largest(dtype)), p.neginf.value_or(-Largest(dtype))};
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const Replacements by = ReplacementsOf(node, in[0].dtype());
  MapElements(in[0], out[0], [&](auto x) {
    using T = decltype(x);
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(x)) return static_cast<T>(by.nan);
      if (std::isinf(x)) return static_cast<T>(x > 0 ? by.high : by.low);
    }
    return x;
  });
}

bool Lower(LowerContext& c) {
  using kernels::MapOp;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Replacements by = ReplacementsOf(c.node(), c.in_type(0).dtype);
  return LowerToMap(c, {{.op = MapOp::kNotEqual, .x = 0, .y = 0},
                        {.op = MapOp::kConstant, .alpha = static_cast<float>(by.nan)},
                        {.op = MapOp::kSelect, .x = 1, .y = 2, .z = 0},
                        {.op = MapOp::kConstant, .alpha = kInfinity},
                        {.op = MapOp::kEqual, .x = 0, .y = 4},
                        {.op = MapOp::kConstant, .alpha = static_cast<float>(by.high)},
                        {.op = MapOp::kSelect, .x = 5, .y = 6, .z = 3},
                        {.op = MapOp::kConstant, .alpha = -kInfinity},
                        {.op = MapOp::kEqual, .x = 0, .y = 8},
                        {.op = MapOp::kConstant, .alpha = static_cast<float>(by.low)},
                        {.op = MapOp::kSelect, .x = 9, .y = 10, .z = 7}});
}

[[maybe_unused]] const auto kCard =
    RegisterOp<NanToNumParam>("_npi_nan_to_num")
        .Doc("The data, with numbers in the place of NaN and infinities.")
        .Params(
            ParamSchema<NanToNumParam>()
                .Optional("copy", &NanToNumParam::copy, "Changes nothing: the result is another array.")
                .Optional("nan", &NanToNumParam::nan, "What NaN becomes.")
                .Optional("posinf", &NanToNumParam::posinf, "What infinity becomes; None: the largest number.")
                .Optional("neginf", &NanToNumParam::neginf, "What minus infinity becomes; None: the lowest number."))
        .Inputs({"data"})
        .Set(SameShape())
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kElementwise})
        .Set(GradientRule{
            [](GradientContext& c) { c.Set(0, ValueOrZero(c.Call("_npi_isfinite", {c.in(0)}), c.gradient())); }})
        .Set(ReferenceKernel{Reference})
        .Set(KernelRule{Lower});

}  // namespace
}  // namespace amp::nan_to_num
