// The shape that an operator's output has where nobody who reads it requires another one.
#pragma once

#include <functional>

#include "nnvm/node.h"
#include "nnvm/shape.h"

namespace amp {

// A fact of a card whose shape rule may leave output 0 open with all inputs known.
struct ShapeDefault {
  std::function<Shape(const Node&)> shape;
};

}  // namespace amp
