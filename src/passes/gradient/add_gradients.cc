#include "passes/gradient/add_gradients.h"

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "nnvm/error.h"
#include "passes/alternate.h"
#include "passes/gradient/gradient_rule.h"
#include "passes/infer.h"

namespace amp {
namespace {

class GradientBuilder {
 public:
  GradientBuilder(const Graph& graph, const std::vector<NodeId>& variables)
      : graph_(graph),
        depends_(FindDependents(graph, variables)),
        terms_(graph.num_entries()),
        make_([this](const Node& forward, const std::string& op, AttrMap attrs, std::vector<NodeEntry> inputs,
                     Subgraphs subgraphs) {
          return Make(forward, op, std::move(attrs), std::move(inputs), std::move(subgraphs));
        }) {
    for (const NodePtr& node : graph.nodes()) names_.insert(node->name());
  }

  // Adds the gradient of one output of the graph; absent: ones.
  void AddOutput(const NodeEntry& output, const std::optional<NodeEntry>& gradient) {
    const EntryId entry = graph_.EntryOf(output);
    if (!depends_[graph_.NodeOf(entry)]) return;
    terms_[entry].push_back(gradient ? *gradient : NodeEntry{Make(*output.node, "ones_like", {}, {output})});
  }

  void Run() {
    for (std::size_t id = graph_.num_nodes(); id-- > 0;) Visit(static_cast<NodeId>(id));
  }

  // The sum of all gradients that have arrived at an entry.
  std::optional<NodeEntry> Total(EntryId entry) {
    std::vector<NodeEntry>& terms = terms_[entry];
    if (terms.empty()) return std::nullopt;
    if (terms.size() > 1) {
      AttrMap attrs{{"num_args", std::to_string(terms.size())}};
      NodeEntry sum{Make(graph_.node(graph_.NodeOf(entry)), "add_n", std::move(attrs), std::move(terms))};
      terms = {std::move(sum)};
    }
    return terms[0];
  }

 private:
  // Which nodes have an output that changes with one of the variables.
  static std::vector<bool> FindDependents(const Graph& graph, const std::vector<NodeId>& variables) {
    std::vector<bool> depends(graph.num_nodes(), false);
    for (const NodeId id : variables) depends[id] = true;
    for (NodeId id = 0; id < graph.num_nodes(); ++id) {
      const Node& node = graph.node(id);
      if (node.is_variable() || node.op()->Find<ZeroGradient>() != nullptr) continue;
      for (const EntryId entry : graph.InputsOf(id)) {
        if (depends[graph.NodeOf(entry)]) depends[id] = true;
      }
    }
    return depends;
  }

  void Visit(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.is_variable() || !depends_[id]) return;
    if (node.op()->Find<DifferentiatesEachReader>() != nullptr) {
      for (const NodeEntry& term : std::exchange(terms_[graph_.EntryOf(id, 0)], {})) Differentiate(id, {term});
      return;
    }
    std::vector<std::optional<NodeEntry>> arrived;
    bool any = false;
    for (const EntryId entry : graph_.OutputsOf(id)) {
      arrived.push_back(Total(entry));
      any = any || arrived.back().has_value();
    }
    if (any || OwnsGradient(node)) Differentiate(id, std::move(arrived));
  }

  // A product that reads low precision and writes float32: its gradients are products of what it reads, and of its
  // output's gradient in the same dtype.
  void NarrowForProduct(const Node& node, std::vector<std::optional<NodeEntry>>* arrived) {
    if (!node.attrs().contains(kOutDTypeAttr) || !arrived->front()) return;
    arrived->front() = NodeEntry{Make(node, "_cast_like", {}, {*arrived->front(), node.inputs()[0]})};
  }

  void Differentiate(NodeId id, std::vector<std::optional<NodeEntry>> arrived) {
    std::vector<bool> is_asked;
    for (const EntryId entry : graph_.InputsOf(id)) is_asked.push_back(depends_[graph_.NodeOf(entry)]);
    NarrowForProduct(graph_.node(id), &arrived);
    GradientContext context(graph_.nodes()[id], std::move(arrived), is_asked, &make_);
    RuleOf(graph_.node(id)).apply(context);
    for (std::size_t i = 0; i < is_asked.size(); ++i) {
      const std::optional<NodeEntry>& gradient = context.input_gradients()[i];
      if (gradient && is_asked[i]) terms_[graph_.InputsOf(id)[i]].push_back(*gradient);
    }
  }

  static const GradientRule& RuleOf(const Node& node) {
    if (const auto* none = node.op()->Find<NoGradient>()) {
      throw UnsupportedError(node.Describe() + " has no gradient: " + none->reason);
    }
    const auto* rule = node.op()->Find<GradientRule>();
    if (rule == nullptr) throw UnsupportedError(node.Describe() + " has no gradient: its definition states none");
    return *rule;
  }

  NodePtr Make(const Node& forward, const std::string& op, AttrMap attrs, std::vector<NodeEntry> inputs,
               Subgraphs subgraphs = {}) {
    attrs[kForwardNodeAttr] = forward.name();
    if (const std::string* alternate = forward.FindAttr(kAlternateAttr)) attrs[kAlternateAttr] = *alternate;
    return Node::Make({&OpRegistry::Get().Require(kMXNetDomain, op),
                       UniqueName(forward.name() + "_backward"),
                       std::move(attrs),
                       std::move(inputs),
                       {},
                       Phase::kBackward,
                       std::move(subgraphs)});
  }

  std::string UniqueName(const std::string& stem) {
    if (names_.insert(stem).second) return stem;
    int& count = counts_[stem];
    std::string name;
    do {
      name = stem + std::to_string(++count);
    } while (!names_.insert(name).second);
    return name;
  }

  const Graph& graph_;
  const std::vector<bool> depends_;            // by node
  std::vector<std::vector<NodeEntry>> terms_;  // by entry: the gradients that have arrived
  const GradientContext::MakeNode make_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, int> counts_;
};

}  // namespace

std::vector<std::optional<NodeEntry>> AddGradients(const Graph& graph,
                                                   const std::vector<std::optional<NodeEntry>>& output_gradients,
                                                   const std::vector<NodeId>& variables) {
  GradientBuilder builder(graph, variables);
  for (std::size_t i = 0; i < output_gradients.size(); ++i) builder.AddOutput(graph.outputs()[i], output_gradients[i]);
  builder.Run();
  std::vector<std::optional<NodeEntry>> gradients;
  for (const NodeId id : variables) gradients.push_back(builder.Total(graph.EntryOf(id, 0)));
  return gradients;
}

}  // namespace amp
