#include "passes/optimize/simplify.h"

#include <utility>

#include "passes/op_facts.h"
#include "passes/optimize/eliminate_common_subexpressions.h"
#include "passes/whose_cast.h"

namespace amp {
namespace {

class IdentityFinder {
 public:
  IdentityFinder(const Graph& graph, const Types& types)
      : graph_(graph), types_(types), found_(graph), origin_(found_.same_as) {}

  Identities Run() {
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      const Node& node = graph_.node(id);
      if (node.is_variable() || graph_.HasControlDeps(id)) continue;
      if (FactsOf(node).arithmetic == Arithmetic::kCasts) {
        ConsiderCast(id);
      } else if (IsIdentity(node)) {
        SetSame(graph_.EntryOf(id, 0), graph_.InputsOf(id)[0]);
      }
    }
    return std::move(found_);
  }

 private:
  // An operator that casts has as many outputs as inputs.
  void ConsiderCast(NodeId id) {
    const auto inputs = graph_.InputsOf(id);
    if (inputs.size() == 1) return ConsiderSingleCast(id);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const EntryId output = graph_.EntryOf(id, i);
      if (IsKnown(DTypeOf(output)) && DTypeOf(inputs[i]) == DTypeOf(output)) SetSame(output, inputs[i]);
    }
  }

  void ConsiderSingleCast(NodeId id) {
    const EntryId input = graph_.InputsOf(id)[0], output = graph_.EntryOf(id, 0);
    const DType to = DTypeOf(output);
    const EntryId source = IsFloat(to) ? origin_[input] : input;
    if (source != input) found_.reads[id] = source;
    // A place where the program rounds stays, because plans may compute what is in front of it in float32.
    if (IsLowPrecision(to) && IsCastOfProgram(graph_.node(id))) return;
    if (IsKnown(to) && DTypeOf(source) == to) {
      SetSame(output, source);
    } else if (IsLossless(DTypeOf(source), to)) {
      origin_[output] = source;
    }
  }

  void SetSame(EntryId output, EntryId source) {
    found_.same_as[output] = source;
    origin_[output] = origin_[source];
  }

  DType DTypeOf(EntryId entry) const { return types_[entry].dtype; }

  const Graph& graph_;
  const Types& types_;
  Identities found_;
  std::vector<EntryId> origin_;  // by entry: what a chain of copies and lossless casts began with
};

}  // namespace

Identities FindIdentities(const Graph& graph, const Types& types) { return IdentityFinder(graph, types).Run(); }

RewriteResult Simplify(const Graph& graph, const Types& types) {
  const RewriteResult without_copies = EliminateIdentities(graph, FindIdentities(graph, types));
  RewriteResult merged = EliminateCommonSubexpressions(without_copies.graph);
  merged.provenance.Compose(without_copies.graph, without_copies.provenance);
  merged.changed = merged.changed || without_copies.changed;
  return merged;
}

}  // namespace amp
