// What an operator definition states about training, where it computes something else than at inference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "nnvm/node.h"

namespace amp {

// A node on its way into a training graph.
class TrainingContext {
 public:
  using MakeNode =
      std::function<NodePtr(const char* op, std::string name, AttrMap attrs, std::vector<NodeEntry> inputs)>;

  // `keep` gives the node as it is, on `inputs`; `key` the random numbers' variable, `stream` a new number.
  TrainingContext(const Node& node, std::vector<NodeEntry> inputs, MakeNode make,
                  std::function<std::vector<NodeEntry>()> keep, std::function<NodeEntry()> key,
                  std::function<std::int64_t()> stream)
      : node_(node),
        inputs_(std::move(inputs)),
        make_(std::move(make)),
        keep_(std::move(keep)),
        key_(std::move(key)),
        stream_(std::move(stream)) {}

  const Node& node() const { return node_; }
  const std::vector<NodeEntry>& inputs() const { return inputs_; }
  // All outputs of a node that takes this one's place.
  std::vector<NodeEntry> Make(const char* op, AttrMap attrs, std::vector<NodeEntry> inputs) {
    return AllOutputs(make_(op, node_.name(), std::move(attrs), std::move(inputs)));
  }
  // All outputs of one of several nodes that take its place; `part` tells them apart.
  std::vector<NodeEntry> MakePart(const std::string& part, const char* op, AttrMap attrs,
                                  std::vector<NodeEntry> inputs) {
    return AllOutputs(make_(op, node_.name() + "_" + part, std::move(attrs), std::move(inputs)));
  }
  std::vector<NodeEntry> Keep() { return keep_(); }
  // The seed and the number of the run: what random numbers depend on.
  NodeEntry RandomKey() { return key_(); }
  // A new number for a stream of a key's random numbers. Streams are numbered in the order of the graph, so that a
  // network draws the same numbers however its nodes are called: names that a program makes up count on.
  std::int64_t NextStream() { return stream_(); }

 private:
  const Node& node_;
  std::vector<NodeEntry> inputs_;
  MakeNode make_;
  std::function<std::vector<NodeEntry>()> keep_;
  std::function<NodeEntry()> key_;
  std::function<std::int64_t()> stream_;
};

// A fact: what stands for the outputs of the node in training.
struct TrainingForm {
  std::function<std::vector<NodeEntry>(TrainingContext&)> make;
};

// A body of a node of control flow, in other forms.
struct FormedBody {
  std::vector<NodeEntry> outputs;
  // Variables of it that are auxiliary states, and what they become in one run.
  std::vector<std::pair<std::string, NodeEntry>> updates;
};

// A fact of operators with bodies: the node with bodies in other forms. What draws random numbers there reads the
// variable kRandomKey of its body; `random_key` makes the key for the node. The first outputs are those that the
// node had.
struct BodiesForm {
  std::function<NodePtr(const Node& node, std::vector<NodeEntry> inputs, std::vector<FormedBody> bodies,
                        const std::function<NodeEntry()>& random_key)>
      make;
};

// The auxiliary state at input `slot` moves towards output `output` in each step:
// state * momentum + output * (1 - momentum). One that the node itself moves becomes the output.
struct StateUpdate {
  std::size_t slot;
  std::uint32_t output;
  double momentum;
  bool by_node = false;
};

// A fact of an operator of training graphs.
struct UpdatesStates {
  std::function<std::vector<StateUpdate>(const Node&)> updates;
};

}  // namespace amp
