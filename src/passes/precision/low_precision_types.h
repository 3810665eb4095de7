// What each node would be in low precision, and which nodes can be.
#pragma once

#include <unordered_map>
#include <vector>

#include "passes/model.h"
#include "passes/precision/decision.h"
#include "passes/precision/precision_categories.h"
#include "passes/precision/rounding_limits.h"

namespace amp {

// What a node would be in low precision, and whether it can be.
class LowPrecisionTypes {
 public:
  // Gives the decision the texts of refusals and the ranges of all tensors.
  LowPrecisionTypes(const Model& model, const ConvertOptions& options, const PrecisionChoices& choices,
                    Decision* decision);

  bool CanBeLow(NodeId id) const { return can_be_low_[id]; }
  const Reason& RefusalOf(NodeId id) const { return refusals_.at(id); }
  // Would this slot be read in low precision?
  bool IsLowSlot(NodeId id, std::size_t slot) const { return kinds_[FlatSlot(id, slot)] == ReasonKind::kReadsLow; }
  ReasonKind KindOf(NodeId id, std::size_t slot) const { return kinds_[FlatSlot(id, slot)]; }
  // Would this entry be low?
  bool IsLowOutput(EntryId entry) const { return low_output_[entry]; }
  // Is it never to be rounded, whoever reads it? Under policy mxnet: no.
  bool IsNeverRounded(EntryId entry) const { return IsRoundingLimit(limits_.tensors[entry]); }

 private:
  std::size_t FlatSlot(NodeId id, std::size_t slot) const;
  void Classify(NodeId id);
  void LimitPositionsAlone();
  // Whatever rounding damages, the caller may ask for it.
  bool IsAskedFor(NodeId id) const;
  ReasonKind Classify(NodeId id, std::size_t slot) const;
  bool KeepsStatistic(const Node& node, std::size_t slot) const;
  bool HasPolicyOfFacts() const { return options_.policy != PrecisionPolicy::kMXNet; }
  void Refuse(NodeId id, const Reason& reason) { refusals_[id] = reason; }

  const Graph& graph_;
  const Types& types_;
  const ConvertOptions& options_;
  const PrecisionChoices& choices_;
  Decision* decision_;  // texts of refusals are added to its details
  std::vector<bool> can_be_low_;
  std::vector<ReasonKind> kinds_;  // by slot; kReadsLow: would be low
  std::vector<bool> low_output_;
  RoundingLimits limits_;
  std::unordered_map<NodeId, Reason> refusals_;
};

}  // namespace amp
