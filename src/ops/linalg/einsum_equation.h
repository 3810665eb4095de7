// Equations of einsum: names of the axes of arrays.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nnvm/shape.h"

namespace amp::einsum_equation {

// Letters of the arrays and of the result; "..." stands for any axes.
struct EinsumEquation {
  std::vector<std::string> in;
  std::string out;
};

// Throws GraphError for what is no equation.
EinsumEquation ParseEinsum(const std::string& subscripts);

// Names of axes: letters, and numbers above 255 for those that "..." stands for, the last one first.
using Labels = std::vector<int>;

struct LabelledShapes {
  std::vector<Shape> shapes;
  std::vector<Labels> in;
  Labels out_labels;
  std::map<int, std::int64_t> sizes;
  Shape out;
};

// Axes of size 1 are broadcast. Throws GraphError where shapes do not fit the equation.
LabelledShapes Label(const EinsumEquation& equation, const std::vector<Shape>& shapes);

}  // namespace amp::einsum_equation
