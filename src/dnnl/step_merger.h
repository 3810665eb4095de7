// Two steps of a program as one, if oneDNN can do both at once and is not slower.
#pragma once

#include <string>
#include <vector>

#include "program/step_graph.h"

namespace amp::onednn {

class StepMerger {
 public:
  // In mode `exact` (not `is_fast`) the implementation must stay the same.
  StepMerger(bool is_fast, StepGraph* graph) : is_fast_(is_fast), graph_(graph) {}

  // Host and its reader as one step with these post-ops, whose operands are those; false where oneDNN lacks it.
  bool Merge(StepId host, StepId reader, std::vector<PostOp> ops, const std::vector<ValueId>& operands);
  // `merged` does the work of both from here on, in the place of the reader.
  void ReplaceReader(Step merged, StepId host, StepId reader);
  // oneDNN has `merged`, and that not in slower code than what it replaces.
  bool Accepts(const Step& merged, const Step& host) const;
  // A new step between `input` and the reader; returns its output.
  ValueId AddBefore(StepId reader, StepSpec spec, ValueId input, TensorType type, const char* suffix);

 private:
  std::string ImplementationOf(const Step& step) const;

  bool is_fast_;
  StepGraph* graph_;
};

}  // namespace amp::onednn
