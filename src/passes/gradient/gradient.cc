#include "passes/gradient/gradient.h"

#include <algorithm>
#include <map>

#include "nnvm/error.h"
#include "passes/fusion_mxnet/unfuse.h"
#include "passes/gradient/add_gradients.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/gradient/keep_float32_sums.h"
#include "passes/gradient/recompute.h"
#include "passes/gradient/use_training_forms.h"
#include "passes/optimize/merge_variables.h"

namespace amp {
namespace {

std::map<std::string, NodeId> VariablesOf(const Graph& graph) {
  std::map<std::string, NodeId> ids;
  for (const NodeId id : graph.variables()) ids[graph.node(id).name()] = id;
  return ids;
}

std::vector<NodeId> FindVariables(const Graph& graph, const std::vector<std::string>& names) {
  const std::map<std::string, NodeId> known = VariablesOf(graph);
  std::vector<NodeId> found;
  std::vector<std::string> unknown;
  for (const std::string& name : names) {
    const auto variable = known.find(name);
    if (variable == known.end()) {
      unknown.push_back(name);
    } else {
      found.push_back(variable->second);
    }
  }
  if (!unknown.empty()) {
    Throw<ArgumentError>("the outputs do not depend on: {}; they have no gradient with respect to it",
                         JoinSome(unknown));
  }
  return found;
}

// A gradient under a name of its own.
NodeEntry Named(const std::string& variable, const NodeEntry& gradient) {
  const std::string name = variable + "_grad";
  return {Node::Make({&OpRegistry::Get().Require(kMXNetDomain, "_copy"),
                      name,
                      {{kOutputNameAttr, name}},
                      {gradient},
                      {},
                      Phase::kBackward})};
}

}  // namespace

Graph JointGraph(const GradientGraph& parts) {
  std::vector<NodeEntry> all = parts.outputs.outputs();
  for (auto it = parts.gradients.rbegin(); it != parts.gradients.rend(); ++it) {
    if (it->second) all.push_back(*it->second);
  }
  for (const auto& [name, state] : parts.states) all.push_back(state);
  return Graph(std::move(all));
}

GradientGraph MapGraph(GradientGraph parts, const std::function<Graph(const Graph&)>& change) {
  const Graph changed = change(JointGraph(parts));
  auto next = changed.outputs().begin();
  std::vector<NodeEntry> outputs(next, next + std::ssize(parts.outputs.outputs()));
  next += std::ssize(outputs);
  parts.outputs = Symbol(std::move(outputs), parts.outputs.np_shape());
  for (auto it = parts.gradients.rbegin(); it != parts.gradients.rend(); ++it) {
    if (it->second) it->second = *next++;
  }
  for (auto& [name, state] : parts.states) state = *next++;
  return parts;
}

GradientGraph MakeGradientGraph(const Symbol& symbol, const std::vector<std::string>& variables,
                                const GradientOptions& options) {
  // What the gradients of the outputs read is one graph with the symbol: variables of one name are one.
  std::vector<NodeEntry> all = symbol.outputs();
  const std::size_t count = all.size();
  if (options.output_gradients.size() > count) {
    Throw<ArgumentError>("expected gradients for {} outputs at most, got {}", count, options.output_gradients.size());
  }
  std::vector<std::size_t> given;
  for (std::size_t i = 0; i < options.output_gradients.size(); ++i) {
    const auto& gradient = options.output_gradients[i];
    if (!gradient) continue;
    if (gradient->outputs().size() != 1) Throw<ArgumentError>("the gradient of output {} is not a single output", i);
    given.push_back(i);
    all.push_back(gradient->outputs()[0]);
  }
  Graph merged = Unfuse(MergeVariables(Graph(std::move(all)))).graph;
  merged = (options.is_train ? UseTrainingForms(merged) : UseRandomForms(merged)).graph;
  if (options.prepare) merged = options.prepare(merged);
  std::vector<std::optional<NodeEntry>> output_gradients(count);
  for (std::size_t i = 0; i < given.size(); ++i) output_gradients[given[i]] = merged.outputs()[count + i];
  const Graph forward({merged.outputs().begin(), merged.outputs().begin() + static_cast<std::ptrdiff_t>(count)});

  const auto found = AddGradients(forward, output_gradients, FindVariables(forward, variables));
  GradientGraph result{Symbol(forward.outputs(), symbol.np_shape()), {}, StateUpdates(forward)};
  for (std::size_t i = 0; i < found.size(); ++i) result.gradients.emplace_back(variables[i], found[i]);
  return MapGraph(std::move(result), [](const Graph& graph) { return RecomputeMarked(KeepFloat32Sums(graph)); });
}

bool ReplacesGradient(const NodeEntry& gradient) {
  const Node& node = *gradient.node;
  return !node.is_variable() && node.op()->Find<AlwaysWrites>() != nullptr;
}

Symbol Gradient(const Symbol& symbol, const std::vector<std::string>& variables, const GradientOptions& options) {
  if (variables.empty()) throw ArgumentError("no variable is named to differentiate with respect to");
  const GradientGraph graph = MakeGradientGraph(symbol, variables, options);
  const Graph forward = graph.outputs.ToGraph();
  const std::map<std::string, NodeId> ids = VariablesOf(forward);
  std::vector<NodeEntry> outputs = graph.outputs.outputs();
  for (const auto& [name, gradient] : graph.gradients) {
    if (gradient) {
      outputs.push_back(Named(name, *gradient));
      continue;
    }
    const NodeEntry variable{forward.nodes()[ids.at(name)]};
    outputs.push_back(Named(name, {Node::Make({&OpRegistry::Get().Require(kMXNetDomain, "zeros_like"),
                                               name + "_zeros",
                                               {},
                                               {variable},
                                               {},
                                               Phase::kBackward})}));
  }
  return Symbol(std::move(outputs), symbol.np_shape());
}

}  // namespace amp
