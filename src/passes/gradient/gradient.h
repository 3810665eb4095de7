// The graph that computes a symbol and its gradients.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nnvm/symbol.h"

namespace amp {

struct GradientOptions {
  // Batch norms use the statistics of the batch, dropout drops. Otherwise everything is as at inference.
  bool is_train = true;
  // By output of the symbol; what is missing is ones.
  std::vector<std::optional<Symbol>> output_gradients = {};
};

// Forward and backward in one graph.
struct GradientGraph {
  Symbol outputs;                                                           // the symbol's, in training form
  std::vector<std::pair<std::string, std::optional<NodeEntry>>> gradients;  // by variable; nullopt: zero everywhere
  std::vector<std::pair<std::string, NodeEntry>> states;                    // auxiliary states after the step
};

// The gradients of sum(output * its gradient) over all outputs with respect to the named variables. Throws
// ArgumentError for names that are no variables of the symbol, UnsupportedError for an operator without a gradient.
GradientGraph MakeGradientGraph(const Symbol& symbol, const std::vector<std::string>& variables,
                                const GradientOptions& options = {});

// Whether the gradient of a variable, where it is this, replaces what it was to be added to: MXNet's SoftmaxOutput
// writes whatever it was asked.
bool ReplacesGradient(const NodeEntry& gradient);

// The outputs of the symbol, then one gradient for each of the variables, called "<variable>_grad"; zeros where that
// does not depend on anything.
Symbol Gradient(const Symbol& symbol, const std::vector<std::string>& variables, const GradientOptions& options = {});

}  // namespace amp
