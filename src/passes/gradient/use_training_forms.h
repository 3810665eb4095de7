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
// drops. So are nodes in bodies of control flow. All other nodes stay the same objects. Throws UnsupportedError for
// what a loop cannot do, such as moving an auxiliary state that differs from step to step.
RewriteResult UseTrainingForms(const Graph& graph);

// Replaces only nodes that draw random numbers at inference, too: what inference runs.
RewriteResult UseRandomForms(const Graph& graph);

// What auxiliary states of a training graph become in one step: {name, new value}. A state that several nodes move is
// moved by each of them, the last one in graph order first, as MXNet does, which moves states in its backward pass.
// Throws UnsupportedError where a loop or a branch in front of others is one of them. The values are nodes of the phase
// `phase`.
std::vector<std::pair<std::string, NodeEntry>> StateUpdates(const Graph& graph, Phase phase = Phase::kBackward);

}  // namespace amp
