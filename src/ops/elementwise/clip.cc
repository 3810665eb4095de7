// clip: limits values to an interval.
#include <algorithm>
#include <cmath>

#include "kernels/base/float_bits.h"
#include "ops/common/numeric.h"
#include "ops/common/ranges.h"
#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/lowering.h"
#include "program/reference.h"

namespace amp::clip {
namespace {

struct ClipParam {
  double a_min = 0;
  double a_max = 0;
};

// Rounding before or after clipping gives the same bits if the bounds survive rounding.
bool Representable(double bound, DType target) {
  const float single = static_cast<float>(bound);
  return target == DType::kBFloat16 ? kernels::BF16ToFloat(kernels::FloatToBF16(single)) == single
                                    : kernels::HalfToFloat(kernels::FloatToHalf(single)) == single;
}

std::int64_t IntegerBound(double bound) {
  constexpr double kLimit = 9.2e18;
  return static_cast<std::int64_t>(std::clamp(bound, -kLimit, kLimit));
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<ClipParam>();
  if (!IsFloat(in[0].dtype())) {
    const std::int64_t low = IntegerBound(p.a_min), high = IntegerBound(p.a_max);
    return MapElements(in[0], out[0], [=](auto x) {
      using T = decltype(x);
      return x > static_cast<T>(high) ? static_cast<T>(high) : x < static_cast<T>(low) ? static_cast<T>(low) : x;
    });
  }
  MapElements(in[0], out[0], [&](auto x) {
    using T = decltype(x);
    const T low = static_cast<T>(p.a_min), high = static_cast<T>(p.a_max);
    return x > high ? high : x < low ? low : x;  // NaN stays NaN
  });
}

ValueRange RangeOf(const RangeQuery& q, int) {
  const auto& p = q.node.params<ClipParam>();
  const ValueRange low = ValueRange::Of(p.a_min), high = ValueRange::Of(p.a_max);
  return p.a_min <= p.a_max ? Maximum(Minimum(q.in[0], high), low) : Hull(low, high);
}

[[maybe_unused]] const auto kCard =
    RegisterOp<ClipParam>("clip")
        .Alias("_sparse_clip")
        .Alias("_npi_clip")
        .Doc("min(max(data, a_min), a_max).")
        .Params(ParamSchema<ClipParam>()
                    .Required("a_min", &ClipParam::a_min, "Lower bound.")
                    .Required("a_max", &ClipParam::a_max, "Upper bound."))
        .Inputs({"data"})
        .Set(SameShape())
        .Set(SameDType())
        .Set(AmpFacts{Arithmetic::kElementwise,
                      {},
                      [](const Node& node, DType target) {
                        const auto& p = node.params<ClipParam>();
                        return Representable(p.a_min, target) && Representable(p.a_max, target);
                      }})
        .Set(IsElementwise{})
        .Set(RangeRule{RangeOf})
        .Set(GradientRule{[](GradientContext& c) {
          const auto& p = c.params<ClipParam>();
          Term inside = c.gradient();
          if (std::isfinite(p.a_min)) inside = inside * (c.in(0) >= p.a_min);
          if (std::isfinite(p.a_max)) inside = inside * (c.in(0) <= p.a_max);
          c.Set(0, inside);
        }})
        .Set(ReferenceKernel{Reference})
        .Set(LowerRule{[](LowerContext& c) {
          const auto& p = c.node().params<ClipParam>();
          if (!(p.a_min <= p.a_max)) return false;
          const EltwiseSpec work{EltwiseKind::kClip, static_cast<float>(p.a_min), static_cast<float>(p.a_max)};
          c.SetOut(0, c.Emit(work, {c.in(0)}, c.out_type(0)));
          return true;
        }});

}  // namespace
}  // namespace amp::clip
