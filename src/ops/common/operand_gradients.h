// Rules of products whose two gradients one operator computes.
#pragma once

#include <vector>

#include "ops/common/rules.h"
#include "passes/gradient/gradient_rule.h"

namespace amp {

// Shapes of an operator with inputs gradient, a and b and outputs a and b: `forward` infers those of the product.
inline ShapeRule GradientsOfOperands(void (*forward)(ShapeRelation&)) {
  return {[forward](ShapeRelation& r) {
    for (int i = 0; i < 2; ++i) {
      r.In(i + 1, r.out(i));
      r.Out(i, r.in(i + 1));
    }
    std::vector<Shape> in{r.in(1), r.in(2)}, out(1);
    ShapeRelation relation(r.node(), in, out);
    forward(relation);
    r.In(0, out[0]);
  }};
}

// The gradient of the product: `op` has its attributes.
inline GradientRule GradientByOperands(const char* op) {
  return {[op](GradientContext& c) {
    const std::vector<Term> found = c.CallAll(op, {c.gradient(), c.in(0), c.in(1)}, c.attrs());
    c.Set(0, found[0]);
    c.Set(1, found[1]);
  }};
}

}  // namespace amp
