// The gradients of matrix products.
#pragma once

#include "nnvm/attr_text.h"
#include "passes/gradient/gradient_rule.h"

namespace amp {

// An array as a matrix, whose columns are its last axis.
inline Term RowsOf(const Term& array) {
  return array.context().Call("Reshape", {array}, {{"shape", "(-1, 0)"}, {"reverse", "True"}});
}
// An array as a matrix, whose rows are its first axis.
inline Term ColumnsOf(const Term& array) { return array.context().Call("Reshape", {array}, {{"shape", "(0, -1)"}}); }

// Whether the product transposes its operands.
struct Transposes {
  bool a, b;
};

// The gradient of one operand of product(a, b), which is an operator with the attributes transpose_a, transpose_b and
// `attrs`; `g` is the gradient of the product.
inline Term GradientOfFirst(const char* product, Transposes t, const Term& g, const Term& b, AttrMap attrs = {}) {
  attrs["transpose_a"] = PrintAttr(t.a && t.b);
  attrs["transpose_b"] = PrintAttr(t.a || !t.b);
  return g.context().Call(product, t.a ? std::vector<Term>{b, g} : std::vector<Term>{g, b}, attrs);
}
inline Term GradientOfSecond(const char* product, Transposes t, const Term& g, const Term& a, AttrMap attrs = {}) {
  attrs["transpose_a"] = PrintAttr(t.b || !t.a);
  attrs["transpose_b"] = PrintAttr(t.a && t.b);
  return g.context().Call(product, t.b ? std::vector<Term>{g, a} : std::vector<Term>{a, g}, attrs);
}

}  // namespace amp
