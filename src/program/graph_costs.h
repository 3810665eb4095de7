// Predicted times of the nodes of a graph: each node is lowered by itself, in the dtypes asked for.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "passes/precision/cost.h"
#include "program/block_costs.h"
#include "program/machine_table.h"

namespace amp {

class GraphCosts : public PrecisionCosts {
 public:
  // Both outlive it. `differentiated`: times are those of forward and backward together, for the gradients of these
  // variables. Throws ArgumentError where a shape is not known.
  GraphCosts(const MachineTable& machine, const Model& model,
             const std::optional<std::set<std::string>>& differentiated = {});

  Picoseconds OfNode(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs) const override;
  Picoseconds OfCast(EntryId entry, DType from, DType to) const override;
  Picoseconds OfLostFusion(EntryId entry, const Consumer& reader) const override;

  // Says for each NodeId whether a low-precision node is faster in float32 between casts than in the machine's own
  // arithmetic. Where oneDNN has none, only sums of products are asked.
  std::vector<bool> FasterInFloat32() const;

 private:
  // What is lowered of a node.
  struct Part {
    bool native_bf16 = true;
    bool with_gradients = false;
  };

  bool IsTraining() const { return !has_gradient_.empty(); }
  void FindFused();
  bool StartsChain(NodeId producer, EntryId output) const;
  void FindParametersBehind();
  double SecondsOf(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs, Part part) const;
  double SecondsAlone(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs) const;
  double SecondsBackward(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs) const;
  const BlockCosts& Blocks() const;
  double PartOf(NodeId id, const std::vector<DType>& inputs) const;
  double SecondsFused(NodeId id, const std::vector<DType>& inputs) const;
  double SecondsOfLostFusions(NodeId id) const;
  double SecondsOfGradientCast(EntryId entry, DType from, DType to) const;
  Model Alone(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs, Part part) const;
  std::string KeyOf(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs, Part part) const;

  const MachineTable& machine_;
  const Model& model_;
  const std::vector<bool> has_gradient_;                     // by EntryId; empty: nothing is computed backwards
  const std::vector<bool> constant_;                         // by NodeId: it runs once
  std::vector<EntryId> fused_into_;                          // by NodeId: the entry after which it is done, or kNone
  std::vector<bool> parameters_behind_;                      // by NodeId: some function of its result reads some
  mutable std::optional<BlockCosts> blocks_;                 // see Blocks; none in training
  mutable std::unordered_map<std::string, double> seconds_;  // of nodes alone; layers repeat
};

}  // namespace amp
