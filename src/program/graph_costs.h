// Predicted times of the nodes of a graph: each node is lowered by itself, in the dtypes asked for.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "passes/precision/cost.h"
#include "program/machine_table.h"

namespace amp {

class GraphCosts : public PrecisionCosts {
 public:
  // Both outlive it. Throws ArgumentError where a shape is not known.
  GraphCosts(const MachineTable& machine, const Model& model);

  Picoseconds OfNode(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs) const override;
  Picoseconds OfCast(EntryId entry, DType from, DType to) const override;
  Picoseconds OfLostFusion(EntryId entry, const Consumer& reader) const override;

 private:
  void FindFused();
  double SecondsAlone(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs) const;
  double SecondsFused(NodeId id, const std::vector<DType>& inputs) const;
  std::string KeyOf(NodeId id, const std::vector<DType>& inputs, const std::vector<DType>& outputs) const;

  const MachineTable& machine_;
  const Model& model_;
  const std::vector<bool> constant_;       // by NodeId: it runs once
  std::vector<EntryId> fused_into_;        // by NodeId: the entry after which it is done, or kNone
  mutable std::unordered_map<std::string, double> seconds_;  // of nodes alone; layers repeat
};

}  // namespace amp
