// The gradient of operators that move elements.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ops/common/gathers.h"
#include "passes/gradient/gradient_rule.h"

namespace amp {

// A fact of operators whose output consists of rows of the data, one for each index: all axes but the first are a row.
struct LooksUpRows {
  int indices = 1;  // the input
  // What becomes of indices that are out of range; nullopt where the node's attributes name other things than rows.
  std::function<std::optional<OutOfRange>(const Node&)> rows;
};

// A fact of operators that put arrays side by side, or constants around them: where the elements of input `slot` begin
// in the output; nullopt where the borders are no constants.
struct JoinsArrays {
  std::function<std::optional<IntTuple>(const Node&, int slot, const std::vector<Shape>& inputs)> begins;
};

// A fact of operators that cut a part out of the data: where that begins; nullopt where it leaves out elements between.
struct CutsArray {
  std::function<std::optional<IntTuple>(const Node&, const Shape& data, const Shape& output)> begins;
};

// Rule of an operator whose output 0 consists of elements of input `slot` and of constants, chosen by its attributes
// and by its other inputs.
GradientRule MoveGradient(int slot = 0);

// The gradient of input `slot` of the operator `op` with these attributes and inputs, where `gradient` is that of its
// output, which consists of elements of that input and of constants.
Term MoveBack(const Term& gradient, const std::string& op, const AttrMap& attrs, const std::vector<Term>& inputs,
              int slot = 0);

// The gradient of input 0 is that of all outputs side by side: of an operator that cuts an array in pieces.
void JoinGradients(GradientContext& c, std::int64_t axis, bool squeezed);

}  // namespace amp
