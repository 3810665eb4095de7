// What an operator definition states about the values of its outputs, and about how it treats errors of its inputs.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "nnvm/node.h"
#include "nnvm/shape.h"
#include "passes/value_range.h"

namespace amp {

// What a rule may look at. Shapes may be unknown.
struct RangeQuery {
  const Node& node;
  std::span<const ValueRange> in;
  std::span<const TensorType* const> in_types;
  std::span<const TensorType* const> out_types;

  // The dtype of input 0; of output 0 where there is no input.
  DType dtype() const { return (in_types.empty() ? out_types : in_types)[0]->dtype; }
  // Elements of output 0 and of an input; 0 where that is unknown.
  double OutSize() const { return SizeOf(*out_types[0]); }
  double InSize(std::size_t slot) const { return SizeOf(*in_types[slot]); }

 private:
  static double SizeOf(const TensorType& type) {
    return type.shape.fully_known() ? static_cast<double>(type.shape.size()) : 0;
  }
};

// The values of output `index`, given those of the inputs: those of float32 arithmetic, but for the rounding of the
// result, which the caller adds. Without a rule nothing is known of an output, except where the operator moves data:
// there all elements are such as in its data inputs.
struct RangeRule {
  std::function<ValueRange(const RangeQuery&, int index)> of;
};

// A function of the ranges of two inputs.
using RangeFunction = ValueRange (*)(const ValueRange& a, const ValueRange& b);
inline RangeRule RangeOfTwo(RangeFunction function) {
  return {[function](const RangeQuery& q, int) { return function(q.in[0], q.in[1]); }};
}
inline RangeRule ConstantRange(const ValueRange& range) {
  return {[range](const RangeQuery&, int) { return range; }};
}

// Fact of an operator whose input 0 holds positions in a table of so many rows. Inputs of a model are taken at their
// word: positions outside of the table would be a mistake of the caller.
struct IndexLimit {
  std::function<double(const Node&)> rows;
};

// How an operator treats a small error of a data input.
enum class Sensitivity : std::uint8_t {
  kSmooth,         // as everything that has a derivative of ordinary size
  kDiscontinuous,  // equality, floor, order: the result may change by a whole step
  kPeriodic,       // an absolute error of the input is one of the result: large inputs are amplified
  kPole,           // infinite, or no number, where the input is 0 or has another sign
  kBounded,        // infinite, or no number, at the ends of the operator's ValueDomain or beyond
};
struct InputSensitivity {
  std::function<Sensitivity(const Node&, std::size_t slot)> of;
};
inline InputSensitivity AllInputs(Sensitivity sensitivity) {
  return {[sensitivity](const Node&, std::size_t) { return sensitivity; }};
}

// Where an operator with inputs of sensitivity kBounded has values.
struct ValueDomain {
  double low = -ValueRange::kInfinity, high = ValueRange::kInfinity;
};

// The algebraic meaning of output 0, as far as errors that cancel or add up depend on it.
enum class Algebra : std::uint8_t {
  kOther,
  kSum,          // of all inputs
  kDifference,   // input 0 - input 1
  kMultiple,     // input 0 times a constant, negated, or plus a constant
  kProduct,      // input 0 * input 1, element by element
  kSquare,       // of input 0
  kTotal,        // the sum or mean of input 0 over axes
  kNorm,         // the root of the sum of squares
  kExponential,  // of input 0
};
struct AlgebraFact {
  std::function<Algebra(const Node&)> of;
};
inline AlgebraFact AlwaysAlgebra(Algebra algebra) {
  return {[algebra](const Node&) { return algebra; }};
}

}  // namespace amp
