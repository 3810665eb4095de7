// A power and a product with scalars, which MXNet 2.x's oneDNN backend fuses.
#include <cmath>
#include <cstdint>

#include "ops/common/map_rules.h"
#include "ops/common/numeric.h"
#include "ops/common/rules.h"
#include "ops/elementwise/functions_of_two.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/op_facts.h"
#include "program/reference.h"

namespace amp::pow_mul_scalar {
namespace {

struct PowMulParam {
  double exponent = 1;
  double multiplier = 1;
  bool exp_is_int = true;
  bool mul_is_int = true;

  bool is_int() const { return exp_is_int && mul_is_int; }
};

// A scalar that is no integer makes floats of integers.
void InferDType(DTypeRelation& r) {
  const DType data = r.in(0);
  if (IsFloat(data) || !IsKnown(data)) return r.AllSame();
  const DType integer = data == DType::kBool ? DType::kInt64 : data;
  r.Out(0, r.node().params<PowMulParam>().is_int() ? integer : DType::kFloat64);
}

template <class T>
void Floats(const PowMulParam& p, const NDArray& in, NDArray& out) {
  std::vector<T> values = Numbers<T>(in);
  for (T& value : values) {
    value = static_cast<T>(std::pow(static_cast<double>(value), static_cast<double>(static_cast<T>(p.exponent)))) *
            static_cast<T>(p.multiplier);
  }
  Store(values, out);
}

// Wraps modulo 2^64; powers beyond it are 0.
void Integers(const PowMulParam& p, const NDArray& in, NDArray& out) {
  std::vector<std::int64_t> values = Numbers<std::int64_t>(in);
  const auto multiplier = static_cast<std::uint64_t>(static_cast<std::int64_t>(p.multiplier));
  for (std::int64_t& value : values) {
    const double power = std::trunc(std::pow(static_cast<double>(value), std::trunc(p.exponent)));
    const std::int64_t kept = std::abs(power) < 9.2e18 ? static_cast<std::int64_t>(power) : 0;
    value = static_cast<std::int64_t>(static_cast<std::uint64_t>(kept) * multiplier);
  }
  Store(values, out);
}

void Reference(const Node& node, std::span<const NDArray> in, std::span<NDArray> out) {
  const auto& p = node.params<PowMulParam>();
  if (IsFloat(out[0].dtype())) {
    return WithFloatType(out[0].dtype(), [&](auto zero) { Floats<decltype(zero)>(p, in[0], out[0]); });
  }
  for (const double scalar : {p.exponent, p.multiplier}) {
    if (!(scalar > -9.2e18 && scalar < 9.2e18)) FailAt(node, "scalar {} does not fit an integer array", scalar);
  }
  Integers(p, in[0], out[0]);
}

bool Lower(LowerContext& c) {
  using kernels::MapOp;
  const auto& p = c.node().params<PowMulParam>();
  return LowerToMap(c, {{.op = MapOp::kConstant, .alpha = static_cast<float>(p.exponent)},
                        {.op = MapOp::kFunction2, .x = 0, .y = 1, .function2 = functions::kPower.real},
                        {.op = MapOp::kConstant, .alpha = static_cast<float>(p.multiplier)},
                        {.op = MapOp::kMul, .x = 2, .y = 3}});
}

[[maybe_unused]] const auto kCard =
    RegisterOp<PowMulParam>("_sg_pow_mul_scalar")
        .Doc("multiplier * data to the power of exponent.")
        .Params(ParamSchema<PowMulParam>()
                    .Optional("exponent", &PowMulParam::exponent, "Integer data truncates it.")
                    .Optional("multiplier", &PowMulParam::multiplier, "Integer data truncates it.")
                    .Optional("exp_is_int", &PowMulParam::exp_is_int, "False: integer data gives float64.")
                    .Optional("mul_is_int", &PowMulParam::mul_is_int, "False: integer data gives float64."))
        .Inputs({"input"})
        .Set(SameShape())
        .Set(DTypeRule{InferDType})
        .Set(AmpFacts{Arithmetic::kElementwise})
        .Set(NoGradient{"MXNet has none"})
        .Set(ReferenceKernel{Reference})
        .Set(KernelRule{Lower});

}  // namespace
}  // namespace amp::pow_mul_scalar
