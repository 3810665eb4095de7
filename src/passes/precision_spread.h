// How low precision spreads from the nodes that are chosen to those that follow.
#pragma once

#include <vector>

#include "passes/precision_choice.h"
#include "passes/reduce_precision.h"

namespace amp {

// What a node would be in low precision, and whether it can be.
class LowForms {
 public:
  LowForms(const Graph& graph, const Types& types, const ConvertOptions& options, Decision* decision);

  bool CanBeLow(NodeId id) const { return can_be_low_[id]; }
  const Reason& RefusalOf(NodeId id) const { return refusals_.at(id); }
  // Would this slot be read in low precision?
  bool IsLowSlot(NodeId id, std::size_t slot) const { return kinds_[FlatSlot(id, slot)] == ReasonKind::kReadsLow; }
  ReasonKind KindOf(NodeId id, std::size_t slot) const { return kinds_[FlatSlot(id, slot)]; }
  // Would this entry be low?
  bool IsLowOutput(EntryId entry) const { return low_output_[entry]; }
  bool CountsAsIntegers(EntryId entry) const { return integers_[entry]; }

 private:
  std::size_t FlatSlot(NodeId id, std::size_t slot) const;
  void FindIntegers();
  void Classify(NodeId id);
  ReasonKind Classify(NodeId id, std::size_t slot) const;
  bool KeepsStatistic(const Node& node, std::size_t slot) const;
  void Refuse(NodeId id, const Reason& reason) { refusals_[id] = reason; }

  const Graph& graph_;
  const Types& types_;
  const ConvertOptions& options_;
  Decision* decision_;
  std::vector<bool> can_be_low_;
  std::vector<ReasonKind> kinds_;  // by slot; kReadsLow: would be low
  std::vector<bool> low_output_, integers_;
  std::unordered_map<NodeId, Reason> refusals_;
};

// What both policies work on.
struct SpreadContext {
  const Graph& graph;
  const Types& types;
  const std::vector<bool>& parameters;
  const ConvertOptions& options;
  const PrecisionChoices& choices;
  const LowForms& forms;

  bool IsParameter(EntryId entry) const { return parameters[graph.NodeOf(entry)]; }
  bool WasLow(EntryId entry) const { return types[entry].dtype == options.target; }
};

// Sets Decision::low and the reasons of neutral nodes, and which outputs of accumulating nodes are better float32.
void SpreadByMXNetRules(const SpreadContext& context, Decision* decision);
void SpreadByFacts(const SpreadContext& context, Decision* decision, std::vector<bool>* writes_float32);

}  // namespace amp
