// One row per operator: how to draw a legal use of it at random, and how far backends may differ on it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nnvm/param.h"
#include "nnvm/shape.h"
#include "random.h"

namespace amp::testing {

enum class Values {
  kPlain,      // a few units around zero
  kPositive,   // variances
  kWide,       // all magnitudes, infinities, NaN, denormals; limits of integers
  kLengths,    // small integers, some of them out of range
  kFractions,  // between 0 and 1
  kCounts,     // from 1 to 4
  kDefinite,   // symmetric positive definite matrices along the last two axes
};

struct InputCase {
  TensorType type;
  Values values = Values::kPlain;
  // The sign that makes every term of the operator's sum positive (see ErrorModel::terms).
  double sign = 1;
};

// The distance from the exact result that correct arithmetic may have *before* the result is rounded to the output's
// dtype, in units of the arithmetic's rounding error:
//   terms * (the result for absolute inputs) + relative * |result| + absolute
// All zero: only the final rounding.
struct ErrorModel {
  double terms = 0;  // length of the longest sum
  double relative = 0;
  double absolute = 0;  // of functions that the library approximates to an absolute error
};

// What oneDNN does not promise where the truth is huge, infinite or no number.
enum class Special {
  kKept,
  kMaximum,         // relu, clip, max pooling: NaN may vanish, -inf become the lowest finite number
  kOverflowsEarly,  // gelu_erf doubles its argument, and multiplies infinities by 0
};

// What results are measured against.
enum class Truth {
  kWide,      // the reference kernel in float64, within the ErrorModel
  kSelected,  // the reference kernel in the dtype itself: selects elements (denormals may become zero)
  kSameBits,  // as before, bit by bit: moves or converts data
};

struct OpCase {
  AttrMap attrs;
  std::vector<InputCase> inputs;
  ErrorModel error;
  Truth truth = Truth::kWide;
  Special special = Special::kKept;
};

struct OpRow {
  std::string op;
  std::function<OpCase(Random&)> draw;
};

// In alphabetical order of operators.
const std::vector<OpRow>& OpRows();
// The rows of op_cases_arrays.cc.
const std::vector<OpRow>& ArrayOpRows();
// The rows of op_cases_lookups.cc.
const std::vector<OpRow>& LookupOpRows();
// The rows of op_cases_targets.cc.
const std::vector<OpRow>& TargetOpRows();
// The rows of op_cases_statistics.cc.
const std::vector<OpRow>& StatisticsOpRows();
// The rows of functions of one number (IsUnaryFunction); rows of their own replace these.
std::vector<OpRow> UnaryFunctionRows();
// The rows of op_cases_functions.cc.
const std::vector<OpRow>& FunctionOpRows();
// The rows of op_cases_numpy.cc.
const std::vector<OpRow>& NumPyOpRows();
// The rows of op_cases_numpy_sums.cc.
const std::vector<OpRow>& NumPySumOpRows();

// The rows of op_cases_gradients.cc.
const std::vector<OpRow>& GradientOpRows();

// The rows of op_cases_linalg.cc.
const std::vector<OpRow>& LinearAlgebraOpRows();

// The rows of op_cases_random.cc.
const std::vector<OpRow>& RandomOpRows();

const std::vector<DType>& FloatTypes();
const std::vector<DType>& AllTypes();

}  // namespace amp::testing
