#include "passes/fusion_mxnet/fuse_groups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "nnvm/inline_subgraph.h"

namespace amp {
namespace {

constexpr std::size_t kNoGroup = static_cast<std::size_t>(-1);

// Puts the subgraph of one group together; its variables remember what they stand for.
class SubgraphBuilder {
 public:
  NodeEntry Variable(const std::string& stem, NodeEntry outside) {
    for (int number = 0;; ++number) {
      const std::string name = stem + std::to_string(number);
      if (names_.insert(name).second) return Remember(Node::Variable(name), std::move(outside));
    }
  }

  NodeEntry Add(const Node& node, std::vector<NodeEntry> inputs) {
    if (!node.subgraphs().empty()) return Open(node, inputs);
    AttrMap attrs = node.attrs();
    attrs.erase(kOutputNameAttr);
    return {Node::Make({node.op(), node.name(), std::move(attrs), std::move(inputs), {}, node.phase()}), 0};
  }

  // What the variables of the subgraph with this output stand for, in the order of the fused node's inputs.
  std::vector<NodeEntry> InputsOf(const NodeEntry& output) const {
    const Graph body({output});
    std::vector<NodeEntry> inputs;
    for (const NodeId id : body.variables()) inputs.push_back(outside_.at(&body.node(id)));
    return inputs;
  }

 private:
  NodeEntry Remember(NodePtr variable, NodeEntry outside) {
    outside_[variable.get()] = std::move(outside);
    return {std::move(variable), 0};
  }

  // A member that is fused already: its variables are read through those that were made for its inputs.
  static NodeEntry Open(const Node& node, const std::vector<NodeEntry>& inputs) {
    return InlineSubgraph(node.subgraphs()[0], inputs, [](const Node& inner, std::vector<NodeEntry> read) {
      return inner.WithInputs(std::move(read), {});
    })[0];
  }

  std::set<std::string> names_;
  std::map<const Node*, NodeEntry> outside_;  // by variable
};

// A node runs in one phase.
bool IsOfOnePhase(const Graph& graph, const FusionGroup& group) {
  const Phase phase = graph.node(group.members.back()).phase();
  return std::all_of(group.members.begin(), group.members.end(),
                     [&](NodeId id) { return graph.node(id).phase() == phase; });
}

class GroupFuser {
 public:
  GroupFuser(const Graph& graph, const std::vector<FusionGroup>& groups)
      : graph_(graph),
        groups_(groups),
        rewriter_(graph),
        group_of_(graph.num_nodes(), kNoGroup),
        mapped_(graph.num_entries()) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      for (const NodeId id : groups[i].members) group_of_[id] = i;
    }
  }

  Graph Run() {
    return rewriter_
        .Run([this](NodeId id, std::vector<NodeEntry> inputs) {
          std::vector<NodeEntry> made = Visit(id, std::move(inputs));
          for (std::size_t i = 0; i < made.size(); ++i) mapped_[graph_.EntryOf(id, i)] = made[i];
          return made;
        })
        .graph;
  }

 private:
  std::vector<NodeEntry> Visit(NodeId id, std::vector<NodeEntry> inputs) {
    const std::size_t group = group_of_[id];
    const bool is_last = group != kNoGroup && groups_[group].members.back() == id;
    if (!is_last) return rewriter_.KeepNode(id, std::move(inputs));
    const NodeEntry fused{Make(SpecOf(group), groups_[group]), 0};
    return std::vector<NodeEntry>(static_cast<std::size_t>(graph_.node(id).num_outputs()), fused);
  }

  // A group may bear the name of a member, which goes.
  NodePtr Make(Node::Spec spec, const FusionGroup& group) {
    for (const NodeId id : group.members) {
      if (graph_.node(id).name() == spec.name) return rewriter_.Replace(Node::Make(std::move(spec)))[0].node;
    }
    return rewriter_.Make(std::move(spec));
  }

  Node::Spec SpecOf(std::size_t number) {
    const FusionGroup& group = groups_[number];
    const Op& op = OpRegistry::Get().Require(kMXNetDomain, group.op);
    Node::Spec spec{&op, group.name, group.attrs, {}, {}, graph_.node(group.members.back()).phase()};
    if (group.keeps_subgraph) {
      FillSubgraph(number, &spec);
    } else {
      for (const EntryId input : group.inputs) spec.inputs.push_back(mapped_[input]);
    }
    const std::string* output_name = graph_.node(group.members.back()).FindAttr(kOutputNameAttr);
    if (output_name != nullptr && *output_name != group.name + "_output") spec.attrs[kOutputNameAttr] = *output_name;
    return spec;
  }

  void FillSubgraph(std::size_t number, Node::Spec* spec) {
    SubgraphBuilder builder;
    std::map<EntryId, NodeEntry> inside;
    NodeEntry output;
    for (const NodeId id : groups_[number].members) {
      std::vector<NodeEntry> inputs;
      for (const EntryId input : Ordered(id, inside)) {
        const auto found = inside.find(input);
        inputs.push_back(found != inside.end() ? found->second
                                               : builder.Variable(StemOf(input, number), mapped_[input]));
      }
      inside[graph_.EntryOf(id, 0)] = output = builder.Add(graph_.node(id), std::move(inputs));
    }
    spec->inputs = builder.InputsOf(output);
    spec->subgraphs = {{output}};
  }

  // The inputs of a member; of a sum the one that comes from the group first.
  std::vector<EntryId> Ordered(NodeId id, const std::map<EntryId, NodeEntry>& inside) const {
    std::vector<EntryId> inputs(graph_.InputsOf(id).begin(), graph_.InputsOf(id).end());
    const bool is_sum = inputs.size() == 2 && !inside.contains(inputs[0]) && inside.contains(inputs[1]);
    if (is_sum) std::swap(inputs[0], inputs[1]);
    return inputs;
  }

  // MXNet fuses one group after the other: a group with a higher number has its old name.
  std::string StemOf(EntryId entry, std::size_t reader) const {
    const std::size_t group = group_of_[graph_.NodeOf(entry)];
    const bool is_later = group != kNoGroup && group > reader;
    return is_later ? graph_.EntryName(entry) : OutputName(mapped_[entry]);
  }

  const Graph& graph_;
  const std::vector<FusionGroup>& groups_;
  Rewriter rewriter_;
  std::vector<std::size_t> group_of_;  // by NodeId
  std::vector<NodeEntry> mapped_;      // what stands for each entry
};

}  // namespace

Graph FuseGroups(const Graph& graph, std::vector<FusionGroup> groups) {
  std::erase_if(groups, [&](const FusionGroup& group) { return !IsOfOnePhase(graph, group); });
  return groups.empty() ? graph : GroupFuser(graph, groups).Run();
}

}  // namespace amp
