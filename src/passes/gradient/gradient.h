// The graph that computes a symbol and its gradients.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nnvm/symbol.h"

namespace amp {

struct GradientOptions {
  // Batch norms use the statistics of the batch, dropout drops. Otherwise everything is as at inference.
  bool is_train = true;
  // The gradient of each output of the symbol; what is missing is ones.
  std::vector<std::optional<Symbol>> output_gradients = {};
  // Changes the graph, in training form, before gradients are taken of it; it keeps the outputs. Absent: nothing does.
  std::function<Graph(const Graph&)> prepare = nullptr;
};

// Forward and backward in one graph.
struct GradientGraph {
  Symbol outputs;                                                           // the symbol's, in training form
  std::vector<std::pair<std::string, std::optional<NodeEntry>>> gradients;  // by variable; nullopt: zero everywhere
  std::vector<std::pair<std::string, NodeEntry>> states;                    // auxiliary states after the step
};

// The parts as outputs of one graph: the symbol's, then the gradients from the last variable to the first, then states.
// In the order of this graph's nodes the gradient of a layer's weight comes before the gradients of layers below it, so
// that what it reads need not be kept any longer.
Graph JointGraph(const GradientGraph& parts);
// The parts after a change of that graph which keeps its outputs: recomputation, say (passes/gradient/recompute.h).
GradientGraph MapGraph(GradientGraph parts, const std::function<Graph(const Graph&)>& change);

// The gradients of sum(output * its gradient) over all outputs with respect to the named variables. Throws
// ArgumentError for names that are no variables of the symbol, UnsupportedError for an operator without a gradient.
// Nodes with the attribute __force_mirroring__ are computed again for the backward pass.
GradientGraph MakeGradientGraph(const Symbol& symbol, const std::vector<std::string>& variables,
                                const GradientOptions& options = {});

// Whether the gradient of a variable, where it is this, replaces what it was to be added to: MXNet's SoftmaxOutput
// writes whatever it was asked.
bool ReplacesGradient(const NodeEntry& gradient);

// The outputs of the symbol, then one gradient for each of the variables, called "<variable>_grad"; zeros where that
// does not depend on anything.
Symbol Gradient(const Symbol& symbol, const std::vector<std::string>& variables, const GradientOptions& options = {});

}  // namespace amp
