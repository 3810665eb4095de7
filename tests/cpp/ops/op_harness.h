// Runs one operator alone, on any backend, and judges what comes out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "op_cases.h"
#include "runtime/executor.h"

namespace amp::testing {

// The first seed of a test whose usual one this is: AMP_TEST_SEED where that is given.
std::uint64_t FirstSeed(std::uint64_t usual);
// AMP_TEST_ITERATIONS times as many.
int NumCases(int usual);

// The arithmetic that stands behind a dtype. The tolerance of every comparison comes from here and from the case's
// ErrorModel, from nowhere else.
struct Precision {
  DType dtype;
  double rounding_error;   // of one addition or multiplication
  double smallest_normal;  // denormals may become zero
};
const Precision& PrecisionOf(DType dtype);

NDArray Converted(const NDArray& array, DType dtype);
// Elements as doubles (exact for all dtypes but 64-bit integers).
std::vector<double> Doubles(const NDArray& array);
NDArray DrawArray(Random& random, const InputCase& input);

// A seed and the number of a run.
NDArray RandomKey();

// A graph of a single node over variables in0, in1, ... with data. One that draws random numbers has the form in which
// it runs, with the key as its last input.
class OneNode {
 public:
  OneNode(const std::string& op, const OpCase& c, std::vector<NDArray> inputs, bool hidden_outputs);

  const Node& node() const { return *symbol_.outputs()[0].node; }
  const std::vector<TensorType>& output_types() const { return output_types_; }

  // The reference kernel, called directly on `inputs`, writing outputs of these types.
  std::vector<NDArray> CallKernel(std::vector<NDArray> inputs, const std::vector<TensorType>& outputs) const;
  // The executor. Inputs from `first_parameter` on are bound as parameters.
  std::vector<NDArray> Execute(Backend backend, std::size_t first_parameter, int num_threads) const;

  // The first element that is too far from the truth, in words; "" where there is none.
  std::string Judge(Backend backend, const std::vector<NDArray>& outputs) const;

  std::string Describe() const;

 private:
  void ComputeTruth(const OpCase& c);
  void SetBounds(const OpCase& c, const NDArray& truth, const std::vector<double>& magnitude, DType dtype);
  std::vector<NDArray> Magnitude(const OpCase& c, const std::vector<NDArray>& wide,
                                 const std::vector<TensorType>& wide_types) const;
  bool IsIgnored(std::size_t slot) const;
  std::string VariableName(std::size_t i) const;

  Symbol symbol_;
  std::size_t num_given_;  // inputs without the key
  std::vector<NDArray> inputs_;
  std::vector<TensorType> output_types_;
  Special special_;
  // The bounds of each output, in its own dtype (equal where bits must agree).
  std::vector<NDArray> low_, high_;
};

}  // namespace amp::testing
