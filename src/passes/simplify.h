// Simplify: what changes no bit of any result and needs no shapes.
#pragma once

#include "nnvm/rewriter.h"
#include "passes/infer.h"

namespace amp {

// Readers of a copy (identity, Dropout at inference, a cast to the dtype that its input has) read what it copies, and a
// cast reads what a lossless cast made its input from. Heads stay what they are. `types` may be partly unknown.
RewriteResult RemoveCopies(const Graph& graph, const Types& types);

// Of nodes that compute the same (same operator, attributes and inputs) one remains, whatever their order: a head, if
// there is one, then the first in the alphabet. Heads all remain, but nobody else reads the others. Nodes with control
// dependencies or subgraphs are no other's equals.
RewriteResult MergeEqual(const Graph& graph);

// Both; there is nothing left for a second run.
RewriteResult Simplify(const Graph& graph, const Types& types);

}  // namespace amp
