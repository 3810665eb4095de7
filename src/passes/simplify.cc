#include "passes/simplify.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "passes/amp_facts.h"
#include "passes/element_facts.h"
#include "passes/lossless.h"
#include "passes/rewriting.h"

namespace amp {
namespace {

bool IsCast(const Node& node) { return FactsOf(node).arithmetic == Arithmetic::kCasts; }

bool IsCopy(const Node& node) {
  const auto* fact = node.op()->Find<IsIdentity>();
  return fact != nullptr && (!fact->holds || fact->holds(node));
}

class CopyRemover {
 public:
  CopyRemover(const Graph& graph, const Types& types)
      : graph_(graph), types_(types), ordered_(OrderedNodes(graph)), heads_(graph), rewriter_(graph) {}

  RewriteResult Run() {
    const auto visit = [this](NodeId id, std::vector<NodeEntry> inputs) { return Visit(id, std::move(inputs)); };
    return rewriter_.Run(visit, [this](std::size_t i, NodeEntry mapped) { return heads_(i, std::move(mapped)); });
  }

 private:
  struct Origin {
    NodeEntry entry;
    DType dtype;
  };

  std::vector<NodeEntry> Visit(NodeId id, std::vector<NodeEntry> inputs) {
    const Node& node = graph_.node(id);
    if (node.is_variable() || ordered_[id]) return rewriter_.Keep(id, std::move(inputs));
    if (IsCast(node)) return Cast(id, std::move(inputs));
    if (!IsCopy(node)) return rewriter_.Keep(id, std::move(inputs));
    return Instead(id, inputs, {{0, inputs[0]}});
  }

  // The node remains, but `entries`, by output, are what others read.
  std::vector<NodeEntry> Instead(NodeId id, const std::vector<NodeEntry>& inputs,
                                 const std::vector<std::pair<std::size_t, NodeEntry>>& entries) {
    std::vector<NodeEntry> outputs = rewriter_.Keep(id, inputs);
    if (heads_.Has(id)) heads_.Set(id, outputs);
    for (const auto& [index, entry] : entries) outputs[index] = entry;
    return outputs;
  }

  // An operator that casts has as many outputs as inputs.
  std::vector<NodeEntry> Cast(NodeId id, std::vector<NodeEntry> inputs) {
    std::vector<std::pair<std::size_t, NodeEntry>> copied;
    std::vector<DType> from;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      from.push_back(types_[graph_.InputsOf(id)[i]].dtype);
      const DType to = OutputDType(id, i);
      const auto origin = origins_.find(inputs[i].node.get());
      if (origin != origins_.end() && IsFloat(to) && inputs.size() == 1) {
        from[i] = origin->second.dtype;
        inputs[i] = origin->second.entry;
      }
      if (IsKnown(to) && from[i] == to) copied.emplace_back(i, inputs[i]);
    }
    std::vector<NodeEntry> outputs = Instead(id, inputs, copied);
    const bool lossless = inputs.size() == 1 && copied.empty() && IsLossless(from[0], OutputDType(id, 0));
    if (lossless) origins_.insert_or_assign(outputs[0].node.get(), Origin{inputs[0], from[0]});
    return outputs;
  }

  DType OutputDType(NodeId id, std::size_t i) const {
    return types_[graph_.EntryOf(id, static_cast<std::uint32_t>(i))].dtype;
  }

  const Graph& graph_;
  const Types& types_;
  const std::vector<bool> ordered_;
  OwnHeads heads_;
  Rewriter rewriter_;
  std::unordered_map<const Node*, Origin> origins_;  // of lossless casts in the new graph
};

class EqualMerger {
 public:
  explicit EqualMerger(const Graph& graph)
      : graph_(graph), ordered_(OrderedNodes(graph)), heads_(graph), rewriter_(graph) {
    for (NodeId id = 0; id < graph.num_nodes(); ++id) AddToClass(id);
  }

  RewriteResult Run() {
    const auto visit = [this](NodeId id, std::vector<NodeEntry> inputs) { return Visit(id, std::move(inputs)); };
    RewriteResult result =
        rewriter_.Run(visit, [this](std::size_t i, NodeEntry mapped) { return heads_(i, std::move(mapped)); });
    AddProvenance(&result);
    return result;
  }

 private:
  struct Class {
    NodeId chosen;
    std::size_t size = 0;
    std::vector<NodeEntry> outputs;  // in the new graph
  };

  void AddToClass(NodeId id) {
    const auto next = static_cast<std::uint32_t>(classes_.size());
    const auto found = MayMerge(id) ? numbers_.try_emplace(KeyOf(id), next).first->second : next;
    if (found == next) classes_.push_back({id, 0, {}});
    Class& of_id = classes_[found];
    if (IsBetter(id, of_id.chosen)) of_id.chosen = id;
    ++of_id.size;
    class_of_.push_back(found);
  }

  bool MayMerge(NodeId id) const {
    const Node& node = graph_.node(id);
    return !node.is_variable() && !ordered_[id] && node.subgraphs().empty();
  }

  // Equal for nodes that compute the same. Hidden attributes are notes, but for the one that makes a dtype.
  std::string KeyOf(NodeId id) const {
    const Node& node = graph_.node(id);
    std::string key = fmt::format("{} {}", static_cast<const void*>(node.op()), static_cast<int>(node.phase()));
    for (const EntryId input : graph_.InputsOf(id)) {
      key += fmt::format(" {}.{}", class_of_[graph_.NodeOf(input)], graph_.IndexOf(input));
    }
    for (const auto& [name, value] : node.attrs()) {
      if (IsHiddenKey(name) && name != kOutDTypeAttr) continue;
      key += fmt::format(" {}:{}={}:{}", name.size(), name, value.size(), value);
    }
    return key;
  }

  bool IsBetter(NodeId id, NodeId than) const {
    const bool is_head = heads_.Has(id), other_is_head = heads_.Has(than);
    return is_head != other_is_head ? is_head : graph_.node(id).name() < graph_.node(than).name();
  }

  std::vector<NodeEntry> Visit(NodeId id, std::vector<NodeEntry> inputs) {
    Class& of_id = classes_[class_of_[id]];
    // The inputs of equal nodes have become the same entries.
    if (of_id.outputs.empty()) of_id.outputs = rewriter_.Keep(of_id.chosen, inputs);
    if (id != of_id.chosen && heads_.Has(id)) heads_.Set(id, rewriter_.Keep(id, std::move(inputs)));
    return of_id.outputs;
  }

  // What remains stands for all of its class.
  void AddProvenance(RewriteResult* result) const {
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      const Class& of_id = classes_[class_of_[id]];
      if (of_id.size > 1) result->provenance.Add(of_id.outputs[0].node.get(), graph_.nodes()[id]);
    }
  }

  const Graph& graph_;
  const std::vector<bool> ordered_;
  OwnHeads heads_;
  Rewriter rewriter_;
  std::unordered_map<std::string, std::uint32_t> numbers_;  // of classes
  std::vector<Class> classes_;
  std::vector<std::uint32_t> class_of_;
};

}  // namespace

RewriteResult RemoveCopies(const Graph& graph, const Types& types) { return CopyRemover(graph, types).Run(); }

RewriteResult MergeEqual(const Graph& graph) { return EqualMerger(graph).Run(); }

RewriteResult Simplify(const Graph& graph, const Types& types) {
  const RewriteResult removed = RemoveCopies(graph, types);
  RewriteResult merged = MergeEqual(removed.graph);
  merged.provenance.Compose(removed.graph, removed.provenance);
  merged.changed = merged.changed || removed.changed;
  return merged;
}

}  // namespace amp
