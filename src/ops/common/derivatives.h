// Derivatives that several operator definitions share.
#pragma once

#include <numbers>

#include "passes/gradient/gradient_rule.h"

namespace amp {

// Ones where y is of floats; a function of integers changes by steps.
inline Term OneOfFloats(const Term& y) { return Unary("_float_ones_like", y); }

// The derivative of the larger of x and 0: 1 above 0, and not a number where x is none, as in MXNet.
inline Term ReluDerivative(const Term&, const Term& y) {
  return Unary("ceil", y.context().Call("clip", {y}, {{"a_min", "0"}, {"a_max", "1"}}));
}

// The derivative of x * tanh(log(1 + exp(x))).
inline Term MishDerivative(const Term& x, const Term&) {
  const Term t = Unary("tanh", x.context().Call("Activation", {x}, {{"act_type", "softrelu"}}));
  return t + x * Unary("sigmoid", x) * (1 - Unary("square", t));
}

// The derivative of x * (1 + erf(x / sqrt(2))) / 2.
inline Term GeluDerivative(const Term& x, const Term&) {
  const Term cumulated = 0.5 * (Unary("erf", x * (1 / std::numbers::sqrt2)) + 1);
  const Term density = std::numbers::inv_sqrtpi / std::numbers::sqrt2 * Unary("exp", -0.5 * Unary("square", x));
  return cumulated + x * density;
}

}  // namespace amp
