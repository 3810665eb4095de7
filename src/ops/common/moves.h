// Operators that only move elements, lowered to copies between strided places of row-major arrays.
#pragma once

#include <vector>

#include "program/lower_context.h"

namespace amp {

// Elements of one input on their way to the output; counted in elements.
struct Move {
  struct Axis {
    std::int64_t size, from, to;  // strides, as kernels::StridedCopy has them
  };
  std::vector<Axis> axes = {};
  std::int64_t first_from = 0, first_to = 0;
  std::size_t input = 0;  // which one
};

std::vector<std::int64_t> RowMajorStrides(const Shape& shape);

// To all elements of `out` in order, from elements with these strides along the axes of `out`.
Move MoveTo(const Shape& out, const std::vector<std::int64_t>& from, std::int64_t first_from = 0);
// A move from an array that is broadcast.
Move BroadcastMove(const Shape& in, const Shape& out);

// Adds a step that makes an array of `type`. What no move reaches is 0; `covers`: there is nothing of that kind.
ValueId EmitMoves(LowerContext& c, std::vector<ValueId> inputs, const std::vector<Move>& moves, TensorType type,
                  bool covers = true);
// Output 0 is input 0 moved.
bool LowerToMove(LowerContext& c, const Move& move);
// Output 0 is input 0 broadcast.
KernelRule BroadcastByKernel();
// Output 0 is all inputs, one behind the other along an axis of it. `parts`: their shapes with the output's rank.
bool LowerToConcat(LowerContext& c, int axis, const std::vector<Shape>& parts);
// Whether that is faster than oneDNN's concatenation, which copies each part of a line by a call. It takes a tenth
// of the time where parts are one or two numbers, and as long where lines are twice as long as these.
bool JoinsShortLines(const LowerContext& c, int axis);

// Every element of output 0 has these bytes. Inputs lend their shapes.
bool LowerToFill(LowerContext& c, std::uint64_t bytes);
// Output 0 holds these values, which do not depend on those of the inputs.
bool LowerToValues(LowerContext& c, const NDArray& values);
// LowerToValues with the values that the reference kernel gives; it reads the shapes of its inputs only.
KernelRule ValuesOfReference();

}  // namespace amp
