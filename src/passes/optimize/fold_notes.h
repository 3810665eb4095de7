// What FoldBatchNorm has decided so far: which norm goes into which product, and what the product's arrays become.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "passes/optimize/fold_parameters.h"

namespace amp {

class FoldNotes {
 public:
  // A product into which norms are folded.
  struct Target {
    FoldedProduct product;
    std::string bias;            // name of its variable
    bool adds_bias = false;      // the node has none yet
    std::optional<NodeId> last;  // the norm whose result it gives, where norms before it are folded
  };

  // `keeps`, where given, says which nodes must stay as they are.
  FoldNotes(const Model& model, const std::function<bool(const Node&)>& keeps);

  bool Keeps(const Node& node) const { return keeps_ && keeps_(node); }
  const FoldParameters& parameters() const { return parameters_; }
  const std::map<NodeId, NodeId>& into() const { return into_; }  // norm -> product
  const std::map<NodeId, Target>& targets() const { return targets_; }
  std::map<std::string, NDArray>& arrays() { return arrays_; }  // new values of parameters, by name

  // The product with the norms that are folded into it already.
  FoldedProduct ProductOf(NodeId id, const NDArray& weight, const NDArray& bias) const;
  // Takes note that `product`, which has `norm` in it, is what `id` computes. An obstacle if its arrays would not be
  // finite.
  std::string Fold(NodeId norm, NodeId id, FoldedProduct product);
  void SetLast(NodeId id, NodeId norm) { targets_.at(id).last = norm; }

 private:
  std::string NewBiasName(NodeId id);

  const Model& model_;
  const std::function<bool(const Node&)>& keeps_;
  const FoldParameters parameters_;
  std::unordered_set<std::string> taken_;  // names of nodes and arrays; filled when a name is asked for
  std::map<NodeId, NodeId> into_;
  std::map<NodeId, Target> targets_;
  std::map<std::string, NDArray> arrays_;
};

}  // namespace amp
