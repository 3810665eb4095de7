#include "passes/optimize/eliminate_common_subexpressions.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "passes/alternate.h"
#include "passes/infer.h"
#include "passes/tiling_accumulation.h"
#include "passes/whose_cast.h"

namespace amp {
namespace {

class EqualMerger {
 public:
  EqualMerger(const Graph& graph, const MergePolicy& policy)
      : graph_(graph), policy_(policy), kept_(graph), rewriter_(graph) {
    for (NodeId id = 0; id < graph.num_nodes(); ++id) AddToClass(id);
  }

  RewriteResult Run() {
    const auto visit = [this](NodeId id, std::vector<NodeEntry> inputs) { return Visit(id, std::move(inputs)); };
    return rewriter_.Run(visit, [this](std::size_t i, NodeEntry mapped) { return kept_(i, std::move(mapped)); });
  }

 private:
  struct Class {
    NodeId chosen;
    std::vector<NodeEntry> outputs;  // in the new graph
  };

  void AddToClass(NodeId id) {
    const auto next = static_cast<std::uint32_t>(classes_.size());
    const auto found = MayMerge(id) ? numbers_.try_emplace(KeyOf(id), next).first->second : next;
    if (found == next) classes_.push_back({id, {}});
    Class& of_id = classes_[found];
    if (IsBetter(id, of_id.chosen)) of_id.chosen = id;
    class_of_.push_back(found);
  }

  bool MayMerge(NodeId id) const {
    const Node& node = graph_.node(id);
    return !node.is_variable() && !graph_.HasControlDeps(id) && node.subgraphs().empty() &&
           policy_.may_merge(graph_, id);
  }

  std::string KeyOf(NodeId id) const {
    const Node& node = graph_.node(id);
    std::string key = fmt::format("{} {} {}", static_cast<const void*>(node.op()), static_cast<int>(node.phase()),
                                  IsCastOfProgram(node));
    for (const EntryId input : graph_.InputsOf(id)) {
      key += fmt::format(" {}.{}", class_of_[graph_.NodeOf(input)], graph_.IndexOf(input));
    }
    for (const auto& [name, value] : node.attrs()) {
      if (policy_.compares(name)) key += fmt::format(" {}:{}={}:{}", name.size(), name, value.size(), value);
    }
    return key;
  }

  bool IsBetter(NodeId id, NodeId than) const {
    if (policy_.keeps_first) return false;
    const bool is_output = graph_.HasOutput(id), other_is_output = graph_.HasOutput(than);
    return is_output != other_is_output ? is_output : graph_.node(id).name() < graph_.node(than).name();
  }

  std::vector<NodeEntry> Visit(NodeId id, std::vector<NodeEntry> inputs) {
    Class& of_id = classes_[class_of_[id]];
    // The inputs of equal nodes have become the same entries.
    if (of_id.outputs.empty()) of_id.outputs = rewriter_.KeepNode(of_id.chosen, inputs);
    if (id != of_id.chosen && graph_.HasOutput(id)) kept_.Set(id, rewriter_.KeepNode(id, std::move(inputs)));
    return of_id.outputs;
  }

  const Graph& graph_;
  const MergePolicy& policy_;
  KeptOutputs kept_;
  Rewriter rewriter_;
  std::unordered_map<std::string, std::uint32_t> numbers_;  // of classes
  std::vector<Class> classes_;
  std::vector<std::uint32_t> class_of_;
};

// A 0 in the shape of zeros or ones is a size that readers say: other readers may say another one.
bool HasOpenShape(const Node& node) {
  const auto* rule = node.inputs().empty() ? node.op()->Find<ShapeRule>() : nullptr;
  if (rule == nullptr) return false;
  std::vector<Shape> in, out(static_cast<std::size_t>(node.num_outputs()));
  ShapeRelation relation(node, in, out);
  rule->infer(relation);
  return std::any_of(out.begin(), out.end(), [](const Shape& shape) { return !shape.fully_known(); });
}

}  // namespace

const MergePolicy kMergeEqual{
    [](const Graph& graph, NodeId id) { return !HasOpenShape(graph.node(id)); },
    [](const std::string& attr) {
      return !IsHiddenKey(attr) || attr == kOutDTypeAttr || attr == kTilingAccumAttr || attr == kTileKAttr ||
             attr == kAlternateAttr;
    },
};

RewriteResult EliminateCommonSubexpressions(const Graph& graph, const MergePolicy& policy) {
  return EqualMerger(graph, policy).Run();
}

}  // namespace amp
