// From a graph for inference to one for training.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nnvm/rewriter.h"

namespace amp {

// The variable that holds the seed and the number of the run, two numbers of int64. Graphs that draw no random numbers
// have none.
inline constexpr const char* kRandomKey = "__random_key__";

// Every node whose definition has a TrainingForm in that form: batch norms use the statistics of the batch, dropout
// drops. All other nodes stay the same objects. Throws UnsupportedError where a body of control flow would need one.
RewriteResult UseTrainingForms(const Graph& graph);

// The first node of the graph, or of bodies in it, that computes something else in training; nullptr for none.
NodePtr FirstChangedInTraining(const Graph& graph);

// The same for nodes that draw random numbers at inference, too: what inference runs.
RewriteResult UseRandomForms(const Graph& graph);

// What auxiliary states of a training graph become in one step: {name, new value}. A state that several nodes move is
// moved by each of them, in graph order.
std::vector<std::pair<std::string, NodeEntry>> StateUpdates(const Graph& graph);

}  // namespace amp
