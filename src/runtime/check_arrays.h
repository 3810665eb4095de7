// Checks of the arrays that a caller passes to a run.
#pragma once

#include <string>
#include <vector>

#include "nnvm/ndarray.h"

namespace amp::onednn {

struct Plan;

// Appends a line for an array that is not exactly what it should be.
void CheckArray(const char* role, const std::string& name, const NDArray& array, const TensorType& expected,
                std::string* problems);

// Throws ArgumentError that lists every array that is missing or has another type than the plan's.
void CheckTypes(const Plan& plan, const std::vector<std::string>& output_names, const std::vector<NDArray>& inputs,
                const std::vector<NDArray>& outputs);

// Refuses outputs that share bytes with anything else; inputs may share theirs. Keeps its memory for the next run.
class OverlapChecker {
 public:
  // Throws ArgumentError that names the output.
  void Check(const std::vector<NDArray>& inputs, const std::vector<NDArray>& outputs,
             const std::vector<std::string>& output_names);

 private:
  // The bytes of an input or output.
  struct Range {
    const char* begin;
    const char* end;
    std::size_t index;
    bool is_output;
  };
  void AddRanges(const std::vector<NDArray>& arrays, bool are_outputs);

  std::vector<Range> ranges_;
};

}  // namespace amp::onednn
