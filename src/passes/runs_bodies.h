// What definitions of loops and branches state of the graphs that their nodes run.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "nnvm/graph.h"
#include "passes/infer.h"

namespace amp {

// One of a node's subgraphs.
struct FlowBody {
  struct Variable {
    std::string name;
    std::size_t slot;  // the node's input that it reads, whole or a part in each step
    bool is_whole;     // the same array in every step
  };

  std::string role;                 // "body", "condition", "then" or "else"
  std::vector<Variable> variables;  // in the order of the subgraph
  TypeMap types;                    // of the variables, as far as they are known
  bool gives_results = true;        // its outputs are the node's, in this order
};

// What a step gives replaces an input in the next one, so both have one type.
struct FlowState {
  std::size_t slot;
  std::uint32_t output;
};

struct FlowBodies {
  std::vector<FlowBody> bodies;  // by subgraph
  std::vector<FlowState> states;
};

// A fact: how the node's subgraphs read its inputs of these types.
struct RunsBodies {
  std::function<FlowBodies(const Node& node, std::span<const TensorType> inputs)> describe;
};

inline bool HasBodies(const Node& node) { return !node.is_variable() && node.op()->Find<RunsBodies>() != nullptr; }

// The node with other subgraphs.
NodePtr WithBodies(const Node& node, Subgraphs bodies);

// A graph that a node runs. The full name of a node in it is `path` and its own name: "loop/body/fc".
struct BodyGraph {
  std::string path;
  Graph graph;
  TypeMap variable_types;
};

std::string PathOf(const Node& node, const FlowBody& body);

// The graphs that the nodes of `graph` run, and those that nodes in these run, at whatever depth. `types` are those of
// the entries, or empty: then none are known.
std::vector<BodyGraph> BodiesIn(const Graph& graph, const Types& types);

}  // namespace amp
