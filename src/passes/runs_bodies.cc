#include "passes/runs_bodies.h"

#include <utility>

namespace amp {
namespace {

void AddBodies(const std::string& prefix, const Graph& graph, const Types& types, std::vector<BodyGraph>* found) {
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const Node& node = graph.node(id);
    if (!HasBodies(node)) continue;
    std::vector<TensorType> inputs(graph.InputsOf(id).size());
    for (std::size_t slot = 0; slot < inputs.size() && !types.empty(); ++slot) {
      inputs[slot] = types[graph.InputsOf(id)[slot]];
    }
    FlowBodies flow = node.op()->Find<RunsBodies>()->describe(node, inputs);
    for (std::size_t i = 0; i < flow.bodies.size(); ++i) {
      BodyGraph body{prefix + PathOf(node, flow.bodies[i]), Graph(node.subgraphs()[i]),
                     std::move(flow.bodies[i].types)};
      const Types inner = types.empty() ? Types() : InferPartial(body.graph, body.variable_types);
      const std::string path = body.path;
      const Graph body_graph = body.graph;
      found->push_back(std::move(body));
      AddBodies(path, body_graph, inner, found);
    }
  }
}

}  // namespace

NodePtr WithBodies(const Node& node, Subgraphs bodies) {
  return Node::Make(
      {node.op(), node.name(), node.attrs(), node.inputs(), node.control_deps(), node.phase(), std::move(bodies)});
}

std::string PathOf(const Node& node, const FlowBody& body) { return node.name() + "/" + body.role + "/"; }

std::vector<BodyGraph> BodiesIn(const Graph& graph, const Types& types) {
  std::vector<BodyGraph> found;
  AddBodies("", graph, types, &found);
  return found;
}

}  // namespace amp
