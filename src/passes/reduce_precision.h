// Conversion to low precision: decide, then rewrite.
#pragma once

#include <string>
#include <vector>

#include "nnvm/rewriter.h"
#include "passes/amp_facts.h"
#include "passes/infer.h"

namespace amp {

struct PrecisionOptions {
  DType target = DType::kBFloat16;  // or float16
};

struct SlotDecision {
  DType dtype = DType::kUnknown;
  std::string reason;
};

// One tensor may be read as bfloat16 here and as float32 there, so the decision is per slot.
struct NodeDecision {
  std::vector<SlotDecision> inputs;
  std::vector<SlotDecision> outputs;
  DType accumulation = DType::kUnknown;
};

struct Decision {
  std::vector<NodeDecision> nodes;  // by NodeId

  // "node.slot <- dtype: reason", one line per slot; deterministic.
  std::string Print(const Graph& graph) const;
};

// Pure. `parameters[v]` says whether the variable v (a NodeId) is a parameter, i.e. may be cast once instead of in
// every run. The result does not depend on the order of nodes. Throws ArgumentError for a target that is not low.
Decision Decide(const Graph& graph, const Types& types, const std::vector<bool>& parameters,
                const PrecisionOptions& options);

// Inserts what the decision asks for: at most one cast per (entry, dtype), named
// "<node>_<output index>_amp_cast_<dtype>". amp_multicast becomes casts of its single inputs; casts to the dtype that a
// tensor already has disappear; heads keep their dtypes and names.
RewriteResult ApplyDecision(const Graph& graph, const Types& types, const Decision& decision);

}  // namespace amp
