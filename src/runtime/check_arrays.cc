#include "runtime/check_arrays.h"

#include <algorithm>

#include "dnnl/plan.h"
#include "nnvm/error.h"

namespace amp::onednn {
void CheckArray(const char* role, const std::string& name, const NDArray& array, const TensorType& expected,
                std::string* problems) {
  if (array.defined() && array.type() == expected) return;
  const std::string got = array.defined() ? array.type().ToString() : "nothing";
  *problems += fmt::format("\n  {} '{}': expected {}, got {}", role, name, expected.ToString(), got);
}

void CheckTypes(const Plan& plan, const std::vector<std::string>& output_names, const std::vector<NDArray>& inputs,
                const std::vector<NDArray>& outputs) {
  if (inputs.size() != plan.input_types.size() || outputs.size() != plan.output_types.size()) {
    Throw<ArgumentError>("expected {} inputs ({}) and {} outputs, got {} and {}", plan.input_types.size(),
                         JoinSome(plan.input_names), plan.output_types.size(), inputs.size(), outputs.size());
  }
  std::string problems;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    CheckArray("input", plan.input_names[i], inputs[i], plan.input_types[i], &problems);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    CheckArray("output", output_names[i], outputs[i], plan.output_types[i], &problems);
  }
  if (!problems.empty()) Throw<ArgumentError>("the arrays do not fit the bound model:{}", problems);
}

// A model may have thousands of arrays: in the order of their addresses each is compared with what reaches furthest
// before it.
void OverlapChecker::Check(const std::vector<NDArray>& inputs, const std::vector<NDArray>& outputs,
                           const std::vector<std::string>& output_names) {
  ranges_.clear();
  AddRanges(inputs, false);
  AddRanges(outputs, true);
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  const Range* last_input = nullptr;
  const Range* last_output = nullptr;
  for (const Range& range : ranges_) {
    const bool meets_output = last_output != nullptr && last_output->end > range.begin;
    const bool meets_input = last_input != nullptr && last_input->end > range.begin;
    if (range.is_output ? meets_input : meets_output) {
      const std::size_t output = range.is_output ? range.index : last_output->index;
      Throw<ArgumentError>("output '{}' overlaps an input", output_names[output]);
    }
    if (range.is_output && meets_output) {
      const auto [first, second] = std::minmax(range.index, last_output->index);
      Throw<ArgumentError>("outputs '{}' and '{}' overlap", output_names[first], output_names[second]);
    }
    const Range*& last = range.is_output ? last_output : last_input;
    if (last == nullptr || last->end < range.end) last = &range;
  }
}

void OverlapChecker::AddRanges(const std::vector<NDArray>& arrays, bool are_outputs) {
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const char* begin = arrays[i].As<char>();
    if (arrays[i].bytes() != 0) ranges_.push_back({begin, begin + arrays[i].bytes(), i, are_outputs});
  }
}

}  // namespace amp::onednn
