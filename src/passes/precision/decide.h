// The decision which tensors are in low precision. Nothing is changed yet.
#pragma once

#include <set>
#include <string>

#include "passes/model.h"
#include "passes/precision/decision.h"

namespace amp {

// Pure. A parameter may be cast once instead of in every run. The result does not depend on the order of nodes. Throws
// ArgumentError for a target that is not low and for options that do not fit the graph.
//
// Policy default: accumulating operators read `target`; what needs float32 keeps it. A neutral operator goes low where
// all that it reads can be low without a cast and something behind it gains from that; then casts move across operators
// that commute with rounding, to where a tensor is smaller or read by others in that form. An accumulating operator
// whose result is read in float32 writes float32 (kOutDTypeAttr).
// Policy mxnet: the least fixed point of the rules of MXNet's pass (src/nnvm/low_precision_pass.cc, apache/mxnet
// b84609d3fc): target operators go low, neutral ones where some input exists in low precision, widest ones where all
// do.
// Policy optimal, and policy default for a known machine: a minimum cut (propagate_optimal.h), with its proof.
// Policy graphamp: see propagate_graphamp.h.
Decision Decide(const Model& model, const ConvertOptions& options);

// Whose gradients a model that is converted for training has; see ConvertOptions::differentiated.
std::set<std::string> DifferentiatedVariables(const Model& model, const ConvertOptions& options);

}  // namespace amp
