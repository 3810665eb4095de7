#include <algorithm>

#include "passes/op_facts.h"
#include "passes/precision/low_precision_types.h"
#include "passes/precision/value_ranges.h"

namespace amp {
namespace {

bool IsMulticast(const Node& node) { return node.op_name() == "amp_multicast"; }

}  // namespace

LowPrecisionTypes::LowPrecisionTypes(const Model& model, const ConvertOptions& options, const PrecisionChoices& choices,
                                     Decision* decision)
    : graph_(model.graph()),
      types_(model.types()),
      options_(options),
      choices_(choices),
      decision_(decision),
      can_be_low_(graph_.num_nodes()),
      kinds_(decision->first_slot.back()),
      low_output_(graph_.num_entries()) {
  decision->ranges = FindValueRanges(model);
  limits_ = FindRoundingLimits(graph_, types_, options.target, decision->ranges);
  if (!HasPolicyOfFacts()) LimitPositionsAlone();
  for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
    if (!graph_.node(id).is_variable()) Classify(id);
  }
}

std::size_t LowPrecisionTypes::FlatSlot(NodeId id, std::size_t slot) const { return decision_->first_slot[id] + slot; }

bool LowPrecisionTypes::IsAskedFor(NodeId id) const {
  return choices_.roles[id] == PrecisionCategory::kLow && choices_.reasons[id].kind == ReasonKind::kUser;
}

// Does MXNet (policy mxnet) or the operator definition (other policies) keep this scale, shift or statistic in float32?
bool LowPrecisionTypes::KeepsStatistic(const Node& node, std::size_t slot) const {
  if (node.IsMutable(slot) || HasPolicyOfFacts()) return true;
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
  return limits_.tensors[input];
}

// MXNet's lists decide, but no position is computed from what was rounded.
void LowPrecisionTypes::LimitPositionsAlone() {
  limits_.tensors.assign(graph_.num_entries(), ReasonKind::kReadsLow);
  limits_.written_exactly = limits_.positions;
  for (Reason& reason : limits_.nodes) {
    const bool is_position = reason.kind == ReasonKind::kIntegers && limits_.positions[reason.cause];
    if (!is_position) reason = {ReasonKind::kReadsLow};
  }
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
    if (is_fatal || IsRoundingLimit(kind)) return Refuse(id, {kind, inputs[slot]});
  }
  if (!any) return Refuse(id, {ReasonKind::kNoFloats});
  std::string refusal;
  const std::vector<DType> outputs = OutputDTypes(node, read_dtypes, &refusal);
  if (outputs.empty()) {
    decision_->details.push_back(std::move(refusal));
    return Refuse(id, {ReasonKind::kRefused, Reason::kNone, static_cast<std::uint32_t>(decision_->details.size() - 1)});
  }
  const bool rounds = std::find(outputs.begin(), outputs.end(), options_.target) != outputs.end();
  if (rounds && FactsOf(node).counts && HasPolicyOfFacts()) return Refuse(id, {ReasonKind::kIntegers});
  const bool is_limited = !IsAskedFor(id);
  const ReasonKind limit = limits_.nodes[id].kind;
  if (IsRoundingLimit(limit) || (is_limited && limit != ReasonKind::kReadsLow)) return Refuse(id, limits_.nodes[id]);
  can_be_low_[id] = true;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const EntryId output = graph_.EntryOf(id, i);
    const bool is_exact = is_limited ? limits_.written_exactly[output] : IsRoundingLimit(limits_.tensors[output]);
    low_output_[output] = outputs[i] == options_.target && !is_exact;
  }
}

}  // namespace amp
