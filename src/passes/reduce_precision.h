// Conversion to low precision: decide, then rewrite.
#pragma once

#include <string>
#include <vector>

#include "nnvm/rewriter.h"
#include "passes/infer.h"
#include "passes/precision_options.h"
#include "passes/precision_reason.h"

namespace amp {

// One tensor may be read as bfloat16 here and as float32 there, so the decision is per slot.
struct Decision {
  DType target = DType::kUnknown;
  PrecisionPolicy policy = PrecisionPolicy::kDefault;
  std::vector<DType> produced;            // dtype of each entry, before casts; by EntryId
  std::vector<DType> read;                // dtype wanted by each slot; by first_slot[node] + slot
  std::vector<std::uint32_t> first_slot;  // by NodeId, and the number of all slots
  std::vector<bool> low;                  // the node goes low; by NodeId
  std::vector<Reason> reasons;            // by NodeId
  std::vector<ReasonKind> slot_reasons;   // of slots that differ from their node: statistics, ...; else the node's kind
  std::vector<DType> heads;               // dtype of each output of the model
  std::vector<std::string> details;       // texts of the reasons
  std::vector<std::string> unknown_names;

  DType ReadAt(NodeId id, std::size_t slot) const { return read[first_slot[id] + slot]; }
  // A sum of products in low precision is accumulated in float32; everything else computes in what it produces.
  DType AccumulationOf(const Graph& graph, NodeId id) const;

  // A sentence: "softmax0_output is not in low precision".
  std::string Sentence(const Graph& graph, const Reason& reason) const;
  // "node.slot <- dtype: reason", one line per slot; deterministic.
  std::string Print(const Graph& graph) const;
};

// Pure. `parameters[v]` says whether the variable v (a NodeId) is a parameter, i.e. may be cast once instead of in
// every run. The result does not depend on the order of nodes. Throws ArgumentError for a target that is not low and
// for options that do not fit the graph.
//
// Policy default: accumulating operators read `target`; what needs float32 keeps it. A neutral operator goes low where
// all that it reads can be low without a cast and something behind it gains from that; then casts move across operators
// that commute with rounding, to where a tensor is smaller or read by others in that form. An accumulating operator
// whose result is read in float32 writes float32 (kOutDTypeAttr).
// Policy mxnet: the least fixed point of the rules of MXNet's pass (src/nnvm/low_precision_pass.cc, apache/mxnet
// b84609d3fc): target operators go low, neutral ones where some input exists in low precision, widest ones where all
// do.
Decision Decide(const Graph& graph, const Types& types, const std::vector<bool>& parameters,
                const ConvertOptions& options);

// Inserts what the decision asks for: at most one cast per (entry, dtype), named
// "<node>_<output index>_amp_cast_<dtype>". amp_multicast becomes casts of its single inputs; casts that change nothing
// disappear, and a cast of a lossless cast reads the original. Heads have the decided dtypes; under policy default they
// keep their names.
RewriteResult ApplyDecision(const Graph& graph, const Decision& decision);

}  // namespace amp
