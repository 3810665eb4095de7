#include "passes/gradient/use_training_forms.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "nnvm/attr_text.h"
#include "passes/draws_at_inference.h"
#include "passes/gradient/add_gradients.h"
#include "passes/training_form.h"

namespace amp {

namespace {

// Puts every node of which `uses` is true in its training form.
class Forms {
 public:
  // `moves_states`: auxiliary states of bodies are moved where their nodes ask for it.
  Forms(std::function<bool(const Node&)> uses, bool moves_states)
      : uses_(std::move(uses)), moves_states_(moves_states) {}

  RewriteResult Of(const Graph& graph) {
    SkipStreamsOf(graph);
    Rewriter rewriter(graph);
    std::optional<NodeEntry> key;
    for (const NodeId id : graph.variables()) {
      if (graph.node(id).name() == kRandomKey) key = NodeEntry{graph.nodes()[id]};
    }
    const auto random_key = [&key] {
      if (!key) key = NodeEntry{Node::Variable(kRandomKey, {{"__dtype__", "int64"}, {"__shape__", "(2,)"}})};
      return *key;
    };
    return rewriter.Run([&](NodeId id, std::vector<NodeEntry> inputs) {
      const Node& node = graph.node(id);
      if (const auto bodies = FormedBodies(node)) {
        const auto key_of_bodies = [&] {
          const AttrMap attrs{{"stream", PrintAttr(NextStream())}};
          return NodeEntry{rewriter.Insert({&OpRegistry::Get().Require(kMXNetDomain, "_draw_key"),
                                            node.name() + "_random_key",
                                            attrs,
                                            {random_key()},
                                            {},
                                            node.phase()})};
        };
        const NodePtr formed = node.op()->Find<BodiesForm>()->make(node, std::move(inputs), *bodies, key_of_bodies);
        std::vector<NodeEntry> outputs = rewriter.Replace(formed);
        outputs.resize(static_cast<std::size_t>(node.num_outputs()));
        return outputs;
      }
      const auto* form = node.is_variable() ? nullptr : node.op()->Find<TrainingForm>();
      if (form == nullptr || !uses_(node)) return rewriter.KeepNode(id, std::move(inputs));
      const auto make = [&](const char* op, std::string name, AttrMap attrs, std::vector<NodeEntry> read) {
        CopyHiddenAttrs(node, &attrs);
        return rewriter
            .Replace(Node::Make({&OpRegistry::Get().Require(kMXNetDomain, op), std::move(name), std::move(attrs),
                                 std::move(read), node.control_deps(), node.phase()}))[0]
            .node;
      };
      TrainingContext context(
          node, inputs, make, [&] { return rewriter.KeepNode(id, inputs); }, random_key,
          [this] { return NextStream(); });
      return form->make(context);
    });
  }

 private:
  // Some nodes may be in their forms already.
  void SkipStreamsOf(const Graph& graph) {
    for (const NodePtr& node : graph.nodes()) {
      const auto found = node->attrs().find("stream");
      std::int64_t stream = 0;
      if (found == node->attrs().end() || !ParseAttr(found->second, &stream)) continue;
      last_stream_ = std::max(last_stream_, static_cast<std::uint64_t>(stream));
    }
  }

  // 0 is what loops make the key of the next step with.
  std::int64_t NextStream() { return static_cast<std::int64_t>(++last_stream_); }

  // nullopt: they stay as they are, or the operator keeps its bodies to itself.
  std::optional<std::vector<FormedBody>> FormedBodies(const Node& node) {
    if (node.is_variable() || node.op()->Find<BodiesForm>() == nullptr) return std::nullopt;
    std::vector<FormedBody> bodies;
    bool changed = false;
    for (const std::vector<NodeEntry>& body : node.subgraphs()) {
      const RewriteResult formed = Of(Graph(body));
      bodies.push_back({formed.graph.outputs(), {}});
      if (moves_states_ && formed.changed) bodies.back().updates = StateUpdates(formed.graph, node.phase());
      changed = changed || formed.changed;
    }
    return changed ? std::optional(std::move(bodies)) : std::nullopt;
  }

  const std::function<bool(const Node&)> uses_;
  const bool moves_states_;
  std::uint64_t last_stream_ = 0;
};

}  // namespace

RewriteResult UseTrainingForms(const Graph& graph) {
  return Forms([](const Node&) { return true; }, true).Of(graph);
}

RewriteResult UseRandomForms(const Graph& graph) {
  const auto draws = [](const Node& node) {
    const auto* fact = node.op()->Find<DrawsAtInference>();
    return fact != nullptr && fact->holds(node);
  };
  return Forms(draws, false).Of(graph);
}

std::vector<std::pair<std::string, NodeEntry>> StateUpdates(const Graph& graph, Phase phase) {
  std::vector<std::pair<std::string, NodeEntry>> updates;
  int count = 0;
  const auto make = [&count, phase](const Node& node, const char* op, std::vector<NodeEntry> inputs, AttrMap attrs) {
    attrs[kForwardNodeAttr] = node.name();
    return NodeEntry{Node::Make({&OpRegistry::Get().Require(kMXNetDomain, op),
                                 fmt::format("{}_update{}", node.name(), count++),
                                 std::move(attrs),
                                 std::move(inputs),
                                 {},
                                 phase})};
  };
  std::map<std::string, std::size_t> found;
  for (std::size_t id = graph.num_nodes(); id-- > 0;) {
    const NodePtr& node = graph.nodes()[id];
    const auto* fact = node->is_variable() ? nullptr : node->op()->Find<UpdatesStates>();
    if (fact == nullptr) continue;
    for (const StateUpdate& update : fact->updates(*node)) {
      const NodeEntry& state = node->inputs()[update.slot];
      const auto [place, is_new] = found.emplace(state.node->name(), updates.size());
      if (is_new) updates.emplace_back(state.node->name(), state);
      NodeEntry& value = updates[place->second].second;
      const NodeEntry batch{node, update.output};
      if (update.by_node) {
        if (!is_new) {
          Throw<UnsupportedError>("{}: another node behind it moves its auxiliary state '{}', too", node->Describe(),
                                  Quotable(state.node->name()));
        }
        value = batch;
      } else if (is_new) {
        value = make(*node, "_moving_average", {state, batch}, {{"momentum", PrintAttr(update.momentum)}});
      } else {
        const NodeEntry kept = make(*node, "_mul_scalar", {value}, {{"scalar", PrintAttr(update.momentum)}});
        const NodeEntry added = make(*node, "_mul_scalar", {batch}, {{"scalar", PrintAttr(1 - update.momentum)}});
        value = make(*node, "elemwise_add", {kept, added}, {});
      }
    }
  }
  return updates;
}

}  // namespace amp
