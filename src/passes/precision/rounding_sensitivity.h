// What the readers of a tensor ask of it, from the outputs of the model upstream.
#pragma once

#include <vector>

#include "nnvm/graph.h"
#include "passes/precision/pole_sensitivity.h"
#include "passes/precision/reason.h"
#include "passes/value_range.h"

namespace amp {

// The sensitivity of one tensor, by what reads it directly or through operators that only move data (the first four),
// or that compute (the others).
struct RoundingSensitivity {
  bool is_position = false;  // an index, a length, an axis
  bool is_exact = false;     // read where the smallest change may change the result by a whole step
  bool is_divisor = false;   // something is not finite where it is 0 or has another sign
  bool is_summed = false;    // through multiplications, too: the terms of a sum over axes
  // Errors of the tensor are larger errors of this one, or change the integers that it consists of.
  Reason amplified = {ReasonKind::kReadsLow};  // that is: none
};

struct RoundingSensitivities {
  std::vector<RoundingSensitivity> tensors;  // by EntryId
  // Why a node has to compute in float32, because of how it reads; kReadsLow: it need not. By NodeId.
  std::vector<Reason> nodes;
};

// In linear time. `ranges`: the values of all tensors; `poles`: of the same graph, for `target`.
RoundingSensitivities FindRoundingSensitivities(const Graph& graph, const Types& types, DType target,
                                                const std::vector<ValueRange>& ranges, PoleRules* poles);

}  // namespace amp
