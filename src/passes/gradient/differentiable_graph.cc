#include "passes/gradient/differentiable_graph.h"

#include <algorithm>
#include <atomic>
#include <set>

#include "nnvm/error.h"
#include "nnvm/rewriter.h"
#include "passes/fusion_mxnet/unfuse.h"
#include "passes/gradient/add_gradients.h"
#include "passes/gradient/gradient.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/gradient/keep_float32_sums.h"
#include "passes/gradient/use_training_forms.h"
#include "passes/optimize/merge_variables.h"

namespace amp {
namespace {

// Names that neither symbols of callers have nor derived graphs, whose inputs they are.
std::string OutputVariable(std::uint64_t id, std::size_t i) { return fmt::format("__graph{}_output{}__", id, i); }
std::string GradientVariable(std::uint64_t id, std::size_t i) { return fmt::format("__graph{}_gradient{}__", id, i); }

std::uint64_t NewId() {
  static std::atomic<std::uint64_t> count = 0;
  return ++count;
}

Graph InForm(const Symbol& symbol, bool is_train) {
  Graph graph = Unfuse(MergeVariables(symbol.ToGraph())).graph;
  return (is_train ? UseTrainingForms(graph) : UseRandomForms(graph)).graph;
}

// Entries that were computed before become variables.
std::vector<NodeEntry> CutAt(const std::map<std::pair<const Node*, std::uint32_t>, std::string>& known,
                             std::vector<NodeEntry> entries) {
  if (entries.empty()) return entries;
  const Graph graph(std::move(entries));
  Rewriter rewriter(graph);
  const auto visit = [&](NodeId id, std::vector<NodeEntry> inputs) {
    std::vector<NodeEntry> outputs = rewriter.KeepNode(id, std::move(inputs));
    for (std::uint32_t i = 0; i < outputs.size(); ++i) {
      const auto found = known.find({&graph.node(id), i});
      if (found != known.end()) outputs[i] = {Node::Variable(found->second)};
    }
    return outputs;
  };
  return rewriter.Run(visit).graph.outputs();
}

// See KeepFloat32Sums.
std::vector<std::optional<NodeEntry>> WithFloat32Sums(std::vector<std::optional<NodeEntry>> gradients) {
  std::vector<NodeEntry> entries;
  for (const auto& gradient : gradients) {
    if (gradient) entries.push_back(*gradient);
  }
  if (entries.empty()) return gradients;
  const Graph kept = KeepFloat32Sums(Graph(std::move(entries)));
  auto next = kept.outputs().begin();
  for (auto& gradient : gradients) {
    if (gradient) gradient = *next++;
  }
  return gradients;
}

// Where the entry is in the list. One that is missing is appended.
std::size_t IndexIn(std::vector<NodeEntry>* entries, const NodeEntry& entry) {
  const auto found = std::find(entries->begin(), entries->end(), entry);
  if (found == entries->end()) return entries->push_back(entry), entries->size() - 1;
  return static_cast<std::size_t>(found - entries->begin());
}

}  // namespace

DifferentiableGraph::DifferentiableGraph(const Symbol& symbol, std::vector<std::string> inputs,
                                         std::vector<bool> is_asked, bool is_train)
    : id_(NewId()), inputs_(std::move(inputs)), num_outputs_(symbol.outputs().size()), is_train_(is_train) {
  const Graph graph = InForm(symbol, is_train);
  for (std::size_t i = 0; i < inputs_.size(); ++i) input_ids_[inputs_[i]] = i;
  for (const NodePtr& node : graph.nodes()) owns_gradient_ = owns_gradient_ || OwnsGradient(*node);
  for (const NodeId id : graph.variables()) is_random_ = is_random_ || graph.node(id).name() == kRandomKey;
  forward_ = Symbol(graph.outputs(), symbol.np_shape());
  if (std::find(is_asked.begin(), is_asked.end(), true) != is_asked.end()) KeepWhatGradientsRead(is_asked);
}

std::vector<std::string> DifferentiableGraph::ForwardVariables() const {
  std::vector<std::string> names = inputs_;
  names.push_back(kRandomKey);
  return names;
}

std::vector<std::string> DifferentiableGraph::BackwardVariables() const {
  std::vector<std::string> names = inputs_;
  for (std::size_t i = 0; i < forward_.outputs().size(); ++i) names.push_back(OutputVariable(id_, i));
  for (std::size_t i = 0; i < num_outputs_; ++i) names.push_back(GradientVariable(id_, i));
  names.push_back(kRandomKey);
  return names;
}

void DifferentiableGraph::KeepWhatGradientsRead(const std::vector<bool>& is_asked) {
  Gradients gradients;
  try {
    gradients = Differentiate({std::vector<bool>(num_outputs_, true), is_asked});
  } catch (const UnsupportedError&) {
    return;  // it is thrown again where a gradient is asked for
  }
  std::vector<NodeEntry> ends;
  for (const auto& gradient : gradients.by_input) {
    if (gradient) ends.push_back(*gradient);
  }
  for (const auto& [input, value] : gradients.states) ends.push_back(value);
  if (ends.empty()) return;

  const Graph forward = forward_.ToGraph();
  std::vector<NodeEntry> outputs = forward_.outputs();
  std::set<std::pair<const Node*, std::uint32_t>> kept;
  for (const NodeEntry& output : outputs) kept.emplace(output.node.get(), output.index);
  const auto keep = [&](const NodeEntry& entry) {
    if (entry.node->is_variable() || !forward.Contains(entry.node.get())) return;
    if (kept.emplace(entry.node.get(), entry.index).second) outputs.push_back(entry);
  };
  for (const NodeEntry& end : ends) keep(end);
  const Graph all(std::move(ends));
  for (const NodePtr& node : all.nodes()) {
    if (forward.Contains(node.get())) continue;
    for (const NodeEntry& input : node->inputs()) keep(input);
  }
  forward_ = Symbol(std::move(outputs), forward_.np_shape());
}

DifferentiableGraph::Gradients DifferentiableGraph::Differentiate(const GradientRequest& request) const {
  std::vector<NodeEntry> outputs, without;
  std::vector<std::optional<NodeEntry>> output_gradients;
  for (std::size_t i = 0; i < num_outputs_; ++i) {
    if (!request.has_gradient[i]) {
      if (owns_gradient_) without.push_back(forward_.outputs()[i]);
      continue;
    }
    outputs.push_back(forward_.outputs()[i]);
    output_gradients.push_back(NodeEntry{Node::Variable(GradientVariable(id_, i))});
  }
  outputs.insert(outputs.end(), without.begin(), without.end());
  Gradients result{std::vector<std::optional<NodeEntry>>(inputs_.size()), {}};
  if (outputs.empty()) return result;
  const Graph graph(std::move(outputs));
  std::vector<NodeId> variables;
  std::vector<std::size_t> asked;
  for (const NodeId id : graph.variables()) {
    const auto input = input_ids_.find(graph.node(id).name());
    if (input == input_ids_.end() || !request.is_asked[input->second]) continue;
    variables.push_back(id);
    asked.push_back(input->second);
  }
  const auto found = WithFloat32Sums(AddGradients(graph, output_gradients, variables));
  for (std::size_t i = 0; i < asked.size(); ++i) result.by_input[asked[i]] = found[i];
  if (!is_train_) return result;
  for (auto& [name, value] : StateUpdates(graph)) {
    const auto input = input_ids_.find(name);
    if (input != input_ids_.end()) result.states.emplace_back(input->second, std::move(value));
  }
  return result;
}

DifferentiableGraph::Named DifferentiableGraph::OutputsByName(std::size_t count) const {
  Named names;
  for (std::size_t i = 0; i < count; ++i) {
    const NodeEntry& output = forward_.outputs()[i];
    if (!output.node->is_variable()) names.emplace(std::pair(output.node.get(), output.index), OutputVariable(id_, i));
  }
  return names;
}

std::shared_ptr<const BackwardHalf> DifferentiableGraph::Backward(const GradientRequest& request) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const BackwardHalf>& known = backward_[request];
  if (known) return known;
  const Gradients gradients = Differentiate(request);
  BackwardHalf half{{}, std::vector<std::optional<std::size_t>>(inputs_.size()), {}, std::vector<bool>(inputs_.size())};
  std::vector<NodeEntry> entries;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (!gradients.by_input[i]) continue;
    half.gradients[i] = IndexIn(&entries, *gradients.by_input[i]);
    half.replaces[i] = ReplacesGradient(*gradients.by_input[i]);
  }
  for (const auto& [input, value] : gradients.states) {
    half.states.emplace_back(input, entries.size());
    entries.push_back(value);
  }
  half.symbol = Symbol(CutAt(OutputsByName(forward_.outputs().size()), std::move(entries)), forward_.np_shape());
  return known = std::make_shared<const BackwardHalf>(std::move(half));
}

std::shared_ptr<const DifferentiableGraph> DifferentiableGraph::Derived(const GradientRequest& request,
                                                                        const std::vector<bool>& is_asked) const {
  const std::lock_guard lock(mutex_);
  auto& known = derived_[{request, is_asked}];
  if (known) return known;
  std::vector<NodeEntry> entries;
  for (const auto& gradient : Differentiate(request).by_input) {
    if (gradient) IndexIn(&entries, *gradient);
  }
  std::vector<std::string> variables = BackwardVariables();
  variables.pop_back();  // the random key
  const Symbol symbol(CutAt(OutputsByName(num_outputs_), std::move(entries)), forward_.np_shape());
  return known = std::make_shared<const DifferentiableGraph>(symbol, std::move(variables), is_asked, false);
}

}  // namespace amp
