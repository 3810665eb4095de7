#include <algorithm>

#include "passes/op_facts.h"
#include "passes/precision/low_precision_types.h"

namespace amp {
namespace {

bool IsMulticast(const Node& node) { return node.op_name() == "amp_multicast"; }

// Values pass through, so that what is an integer in front of it is one behind it.
bool MovesIntegers(const Node& node) { return FactsOf(node).arithmetic == Arithmetic::kMovesData; }

}  // namespace

LowPrecisionTypes::LowPrecisionTypes(const Graph& graph, const Types& types, const ConvertOptions& options,
                                     Decision* decision)
    : graph_(graph),
      types_(types),
      options_(options),
      decision_(decision),
      can_be_low_(graph.num_nodes()),
      kinds_(decision->first_slot.back()),
      low_output_(graph.num_entries()),
      integers_(graph.num_entries()) {
  if (options.policy != PrecisionPolicy::kMXNet) FindIntegers();
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    if (!graph.node(id).is_variable()) Classify(id);
  }
}

std::size_t LowPrecisionTypes::FlatSlot(NodeId id, std::size_t slot) const { return decision_->first_slot[id] + slot; }

// Floats that count as integers: what reaches an index slot through data movement, and what is computed from numbers
// that an operator counts (arange, shapes).
void LowPrecisionTypes::FindIntegers() {
  for (NodeId id = static_cast<NodeId>(graph_.num_nodes()); id-- > 0;) {
    const Node& node = graph_.node(id);
    if (node.is_variable()) continue;
    const auto inputs = graph_.InputsOf(id);
    bool passes_on = false;
    for (int i = 0; MovesIntegers(node) && i < node.num_outputs(); ++i) {
      passes_on = passes_on || integers_[graph_.EntryOf(id, i)];
    }
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      const SlotRole role = FactsOf(node).RoleOf(slot);
      const bool is_index = role == SlotRole::kIndex && !FactsOf(node).counts;  // what counts reads shapes alone
      if (is_index || (passes_on && role == SlotRole::kData)) integers_[inputs[slot]] = true;
    }
  }
  for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
    const Node& node = graph_.node(id);
    if (node.is_variable()) continue;
    const AmpFacts& facts = FactsOf(node);
    const auto inputs = graph_.InputsOf(id);
    bool counts = facts.counts;
    bool all = !inputs.empty() && !facts.counts && facts.arithmetic != Arithmetic::kNeedsFloat32 &&
               facts.arithmetic != Arithmetic::kAccumulates;
    bool any = false;
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (facts.RoleOf(slot) != SlotRole::kData) continue;
      any = true;
      all = all && (integers_[inputs[slot]] || !IsFloat(types_[inputs[slot]].dtype));
    }
    counts = counts || (any && all);
    for (int i = 0; counts && i < node.num_outputs(); ++i) {
      integers_[graph_.EntryOf(id, i)] = true;
    }
  }
}

// Does MXNet (policy mxnet) or the operator definition (other policies) keep this scale, shift or statistic in float32?
bool LowPrecisionTypes::KeepsStatistic(const Node& node, std::size_t slot) const {
  if (node.IsMutable(slot) || options_.policy != PrecisionPolicy::kMXNet) return true;
  const auto& kept = MXNetLists(options_.target).float32_inputs;
  const auto found = kept.find(node.op_name());
  if (found == kept.end()) return false;
  const std::string name = node.input_names()[slot];
  return std::find(found->second.begin(), found->second.end(), name) != found->second.end();
}

ReasonKind LowPrecisionTypes::Classify(NodeId id, std::size_t slot) const {
  const Node& node = graph_.node(id);
  const EntryId input = graph_.InputsOf(id)[slot];
  const DType dtype = types_[input].dtype;
  switch (FactsOf(node).RoleOf(slot)) {
    case SlotRole::kIgnored:
      return ReasonKind::kNotRead;
    case SlotRole::kIndex:
      return ReasonKind::kIndex;
    case SlotRole::kStatistic:
      if (KeepsStatistic(node, slot)) return ReasonKind::kStatistic;
      break;
    case SlotRole::kData:
      break;
  }
  if (node.IsMutable(slot)) return ReasonKind::kStatistic;
  if (dtype != DType::kFloat32 && dtype != options_.target) return ReasonKind::kWrongDType;
  if (integers_[input]) return ReasonKind::kIntegers;
  return ReasonKind::kReadsLow;
}

void LowPrecisionTypes::Classify(NodeId id) {
  const Node& node = graph_.node(id);
  const auto inputs = graph_.InputsOf(id);
  std::vector<DType> read_dtypes;
  bool any = false;
  for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
    const ReasonKind kind = kinds_[FlatSlot(id, slot)] = Classify(id, slot);
    any = any || kind == ReasonKind::kReadsLow;
    read_dtypes.push_back(kind == ReasonKind::kReadsLow ? options_.target : types_[inputs[slot]].dtype);
  }
  for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
    const ReasonKind kind = kinds_[FlatSlot(id, slot)];
    const bool is_fatal =
        kind == ReasonKind::kWrongDType && (!IsMulticast(node) || IsFloat(types_[inputs[slot]].dtype));
    if (is_fatal || kind == ReasonKind::kIntegers) return Refuse(id, {kind, inputs[slot]});
  }
  if (!any) return Refuse(id, {ReasonKind::kNoFloats});
  std::string refusal;
  const std::vector<DType> outputs = OutputDTypes(node, read_dtypes, &refusal);
  if (outputs.empty()) {
    decision_->details.push_back(std::move(refusal));
    return Refuse(id, {ReasonKind::kRefused, Reason::kNone, static_cast<std::uint32_t>(decision_->details.size() - 1)});
  }
  const bool rounds = std::find(outputs.begin(), outputs.end(), options_.target) != outputs.end();
  if (rounds && FactsOf(node).counts && options_.policy != PrecisionPolicy::kMXNet)
    return Refuse(id, {ReasonKind::kIntegers});
  can_be_low_[id] = true;
  for (std::size_t i = 0; i < outputs.size(); ++i) low_output_[graph_.EntryOf(id, i)] = outputs[i] == options_.target;
}

}  // namespace amp
