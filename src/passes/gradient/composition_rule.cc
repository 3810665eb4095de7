#include "passes/gradient/composition_rule.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "nnvm/inline_subgraph.h"
#include "nnvm/param.h"
#include "passes/gradient/add_gradients.h"

namespace amp {
namespace {

// The gradients of a composition whose inputs and whose outputs' gradients are variables.
class ComposedGradient {
 public:
  ComposedGradient(GradientContext& context, const Composition& composition)
      : context_(context),
        make_([](const Node& forward, const std::string& op, AttrMap attrs, std::vector<NodeEntry> inputs,
                 Subgraphs subgraphs) {
          return Node::Make({&OpRegistry::Get().Require(kMXNetDomain, op),
                             forward.name(),
                             std::move(attrs),
                             std::move(inputs),
                             {},
                             Phase::kBackward,
                             std::move(subgraphs)});
        }) {
    std::vector<NodeEntry> inputs;
    for (int i = 0; i < context.num_inputs(); ++i) inputs.push_back(NewVariable(context.in(i).entry()));
    variables_ = inputs;
    GradientContext inner(context.node().WithInputs(std::move(inputs), {}), {}, {}, &make_);
    const std::vector<Term> composed = composition(inner);
    for (std::size_t i = 0; i < composed.size(); ++i) {
      if (!context.has_gradient(static_cast<int>(i))) continue;
      outputs_.push_back(composed[i].entry());
      gradients_.push_back(NewVariable(context.gradient(static_cast<int>(i)).entry()));
    }
  }

  void Set() {
    if (outputs_.empty()) return;
    const Graph graph(outputs_);
    std::vector<NodeId> asked;
    std::vector<int> slots;
    for (int i = 0; i < context_.num_inputs(); ++i) {
      const Node* variable = variables_[static_cast<std::size_t>(i)].node.get();
      if (!context_.is_asked(i) || !graph.Contains(variable)) continue;
      asked.push_back(graph.IdOf(variable));
      slots.push_back(i);
    }
    const auto found = AddGradients(graph, gradients_, asked);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i]) context_.Set(slots[i], Inline(*found[i]));
    }
  }

 private:
  NodeEntry NewVariable(const NodeEntry& stands_for) {
    given_.push_back(stands_for);
    return {Node::Variable(std::to_string(given_.size() - 1))};
  }

  Term Inline(const NodeEntry& gradient) {
    const Graph graph({gradient});
    std::vector<NodeEntry> given;
    for (const NodeId id : graph.variables()) given.push_back(given_[std::stoul(graph.node(id).name())]);
    const auto copy = [&](const Node& node, std::vector<NodeEntry> inputs) {
      const NodePtr& known = copies_[&node];
      if (known) return known;
      AttrMap attrs = node.attrs();
      std::erase_if(attrs, [](const auto& attr) { return IsHiddenKey(attr.first); });
      std::vector<Term> terms;
      for (NodeEntry& input : inputs) terms.emplace_back(&context_, std::move(input));
      return copies_[&node] =
                 context_.CallAll(node.op_name(), terms, std::move(attrs), node.subgraphs())[0].entry().node;
    };
    return {&context_, InlineSubgraph({gradient}, given, copy)[0]};
  }

  GradientContext& context_;
  GradientContext::MakeNode make_;
  std::vector<NodeEntry> given_;  // by number of the variable
  std::vector<NodeEntry> variables_, outputs_;
  std::vector<std::optional<NodeEntry>> gradients_;
  std::map<const Node*, NodePtr> copies_;  // shared by the gradients of all inputs
};

}  // namespace

GradientRule CompositionRule(Composition composition) {
  return {[composition = std::move(composition)](GradientContext& c) { ComposedGradient(c, composition).Set(); }};
}

}  // namespace amp
