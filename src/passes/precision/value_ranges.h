// Intervals of all tensors of a model, from its inputs to its outputs.
#pragma once

#include <vector>

#include "passes/model.h"
#include "passes/range_rule.h"

namespace amp {

// Calls the operators' rules (RangeRule). Keeps buffers between calls.
class RangeEvaluator {
 public:
  RangeEvaluator(const Graph& graph, const Types& types) : graph_(graph), types_(types) {}

  // The interval of output `index`, given those of the node's inputs.
  ValueRange Output(NodeId id, int index, std::span<const ValueRange> in);

 private:
  bool ReadsHugeIntegers(NodeId id, std::span<const ValueRange> in) const;
  ValueRange OfMovedData(NodeId id, int index, std::span<const ValueRange> in) const;

  const Graph& graph_;
  const Types& types_;
  std::vector<const TensorType*> in_types_, out_types_;
};

// Finds the range of each entry, in linear time. Parameters with values have their real extremes; inputs of the model
// are anything that their dtypes allow, except where an operator reads them as positions in a table (IndexLimit).
std::vector<ValueRange> FindValueRanges(const Model& model);

// The extremes of the elements that are numbers, and whether all are whole; of float32 and integers.
ValueRange RangeOfArray(const NDArray& array);

}  // namespace amp
