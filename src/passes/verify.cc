#include "passes/verify.h"

#include <unordered_set>

#include "nnvm/env.h"
#include "passes/op_facts.h"

namespace amp {
namespace {

class Verifier {
 public:
  Verifier(const Graph& graph, const Types* types) : graph_(graph), types_(types) {}

  std::string Run() {
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      const Node& node = graph_.node(id);
      if (node.is_variable()) {
        CheckName(node);
      } else {
        CheckOperator(id, node);
      }
    }
    if (types_ != nullptr) CheckTypes();
    return violations_;
  }

 private:
  template <class... Args>
  void Report(const char* law, fmt::format_string<Args...> format, Args&&... args) {
    violations_ += fmt::format("{}: ", law) + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  void CheckName(const Node& variable) {
    if (!names_.insert(variable.name()).second) Report("V3", "two variables are named '{}'", variable.name());
  }

  void CheckOperator(NodeId id, const Node& node) {
    const auto inputs = graph_.InputsOf(id);
    const std::size_t expected = node.input_names().size();
    if (inputs.size() != expected) {
      Report("V1", "{} has {} inputs, its schema {}", node.Describe(), inputs.size(), expected);
    }
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      const Node& source = graph_.node(graph_.NodeOf(inputs[slot]));
      const bool is_mutable = node.IsMutable(slot);
      if (is_mutable && !source.is_variable()) {
        Report("V2", "{} updates {}, which is no variable", node.Describe(), source.Describe());
      }
      if (!is_mutable && source.is_variable() && graph_.IsAuxiliary(graph_.NodeOf(inputs[slot]))) {
        Report("V2", "{} reads the state {} through an ordinary input", node.Describe(), source.Describe());
      }
      if (node.phase() == Phase::kForward && source.phase() == Phase::kBackward) {
        Report("V5", "{} reads {}", node.Describe(), source.Describe());
      }
    }
    CheckBody(node);
    if (!node.op()->Find<ShapeRule>() || !node.op()->Find<DTypeRule>()) {
      Report("V4", "operator {} has no inference rules", node.op_name());
    }
  }

  void CheckBody(const Node& node) {
    if (node.phase() == Phase::kBackward || !node.op()->Find<FusedFact>()) return;
    for (const std::vector<NodeEntry>& body : node.subgraphs()) {
      const Graph graph(body);
      for (const NodePtr& inner : graph.nodes()) {
        if (inner->phase() == Phase::kBackward) Report("V5", "{} stands for {}", node.Describe(), inner->Describe());
      }
    }
  }

  // Recomputes: every variable gets its type, every rule must confirm the rest.
  void CheckTypes() {
    if (types_->size() != graph_.num_entries()) {
      Report("V6", "{} types for {} entries", types_->size(), graph_.num_entries());
      return;
    }
    TypeMap known;
    for (const NodeId id : graph_.variables()) known[graph_.node(id).name()] = (*types_)[graph_.EntryOf(id, 0)];
    try {
      const Types again = Infer(graph_, known);
      for (EntryId e = 0; e < again.size(); ++e) {
        if (again[e] != (*types_)[e]) {
          Report("V6", "{} is recorded as {}, inference gives {}", graph_.EntryName(e), (*types_)[e].ToString(),
                 again[e].ToString());
        }
      }
    } catch (const Error& error) {
      Report("V6", "{}", error.what());
    }
  }

  const Graph& graph_;
  const Types* types_;
  std::unordered_set<std::string> names_;
  std::string violations_;
};

}  // namespace

std::string FindViolations(const Graph& graph, const Types* types) { return Verifier(graph, types).Run(); }

void VerifyAfter(const char* stage, const Graph& graph, const Types* types) {
  if (!EnvFlag("AMP_VERIFY")) return;
  const std::string violations = FindViolations(graph, types);
  if (!violations.empty()) Throw<InternalError>("pass {} produced an invalid graph:\n{}", stage, violations);
}

}  // namespace amp
