#include "passes/reduce_precision.h"

#include <utility>

#include "passes/amp_facts.h"
#include "passes/precision_spread.h"

namespace amp {
namespace {

std::vector<std::uint32_t> FirstSlots(const Graph& graph) {
  std::vector<std::uint32_t> first{0};
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    first.push_back(first.back() + static_cast<std::uint32_t>(graph.InputsOf(id).size()));
  }
  return first;
}

std::vector<DType> HeadDTypes(const Graph& graph, const Types& types, const ConvertOptions& options) {
  const std::vector<std::string> names =
      options.output_dtypes.empty() ? std::vector<std::string>() : OutputNames(graph.outputs());
  std::vector<DType> dtypes;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    dtypes.push_back(types[graph.EntryOf(graph.outputs()[i])].dtype);
    if (names.empty()) continue;
    const auto wanted = options.output_dtypes.find(names[i]);
    if (wanted == options.output_dtypes.end()) continue;
    if (!IsFloat(dtypes[i])) {
      Throw<ArgumentError>("output_dtypes: '{}' is {}, which is no float", names[i], NameOf(dtypes[i]));
    }
    dtypes[i] = wanted->second;
  }
  return dtypes;
}

// Turns "who goes low" into dtypes.
class Settler {
 public:
  Settler(const Graph& graph, const Types& types, const PrecisionChoices& choices, const LowForms& forms,
          const std::vector<bool>& writes_float32, Decision* decision)
      : graph_(graph),
        types_(types),
        choices_(choices),
        forms_(forms),
        writes_float32_(writes_float32),
        d_(*decision) {}

  void Run() {
    d_.produced.resize(graph_.num_entries());
    d_.read.resize(d_.first_slot.back());
    d_.slot_reasons.resize(d_.first_slot.back());
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      if (graph_.node(id).is_variable()) {
        d_.produced[graph_.EntryOf(id, 0)] = types_[graph_.EntryOf(id, 0)].dtype;
      } else if (choices_.roles[id] == PrecisionRole::kCast) {
        TakeAsItComes(id);
      } else {
        Settle(id);
      }
    }
  }

 private:
  void Settle(NodeId id) {
    const auto inputs = graph_.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      const ReasonKind kind = forms_.KindOf(id, slot);
      const bool is_low = d_.low[id] && kind == ReasonKind::kReadsLow;
      DType dtype = is_low ? d_.target : types_[inputs[slot]].dtype;
      if (kind == ReasonKind::kNotRead) dtype = d_.produced[inputs[slot]];
      SetSlot(id, slot, dtype, kind);
    }
    for (int i = 0; i < graph_.node(id).num_outputs(); ++i) {
      const EntryId entry = graph_.EntryOf(id, static_cast<std::uint32_t>(i));
      const bool is_low = d_.low[id] && forms_.IsLowOutput(entry) && !writes_float32_[entry];
      d_.produced[entry] = is_low ? d_.target : types_[entry].dtype;
    }
  }

  // A cast reads whatever is there, if the operator allows that.
  void TakeAsItComes(NodeId id) {
    const auto inputs = graph_.InputsOf(id);
    std::vector<DType> in;
    for (const EntryId input : inputs) in.push_back(d_.produced[input]);
    std::string refusal;
    const std::vector<DType> out = OutputDTypes(graph_.node(id), in, &refusal);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      SetSlot(id, slot, out.empty() ? types_[inputs[slot]].dtype : in[slot], ReasonKind::kReadsLow);
    }
    for (int i = 0; i < graph_.node(id).num_outputs(); ++i) {
      const EntryId entry = graph_.EntryOf(id, static_cast<std::uint32_t>(i));
      d_.produced[entry] = types_[entry].dtype;
    }
  }

  void SetSlot(NodeId id, std::size_t slot, DType dtype, ReasonKind kind) {
    const bool has_its_own = kind == ReasonKind::kStatistic || kind == ReasonKind::kIndex ||
                             kind == ReasonKind::kNotRead || kind == ReasonKind::kIntegers;
    d_.read[d_.first_slot[id] + slot] = dtype;
    d_.slot_reasons[d_.first_slot[id] + slot] = has_its_own ? kind : d_.reasons[id].kind;
  }

  const Graph& graph_;
  const Types& types_;
  const PrecisionChoices& choices_;
  const LowForms& forms_;
  const std::vector<bool>& writes_float32_;
  Decision& d_;
};

}  // namespace

const char* ClassOf(ReasonKind kind) {
  switch (kind) {
    case ReasonKind::kVariable:
    case ReasonKind::kAccumulates:
    case ReasonKind::kNeedsFloat32:
    case ReasonKind::kCasts:
    case ReasonKind::kStatistic:
    case ReasonKind::kIndex:
    case ReasonKind::kNotRead:
    case ReasonKind::kIntegers:
    case ReasonKind::kNoFloats:
      return "fact";
    case ReasonKind::kListed:
      return "list";
    case ReasonKind::kUser:
      return "user";
    case ReasonKind::kReadsLow:
    case ReasonKind::kSharesCast:
    case ReasonKind::kCastsLess:
    case ReasonKind::kConstant:
    case ReasonKind::kReadsHigh:
    case ReasonKind::kNoneLow:
    case ReasonKind::kNotWanted:
      return "propagation";
    case ReasonKind::kRefused:
    case ReasonKind::kWrongDType:
      return "refusal";
  }
  return "";
}

DType Decision::AccumulationOf(const Graph& graph, NodeId id) const {
  const DType dtype = produced[graph.EntryOf(id, 0)];
  return low[id] && IsLowPrecision(dtype) ? DType::kFloat32 : dtype;
}

std::string Decision::Sentence(const Graph& graph, const Reason& reason) const {
  const auto cause = [&] { return graph.EntryName(reason.cause); };
  switch (reason.kind) {
    case ReasonKind::kVariable:
      return "inputs and parameters keep their dtypes";
    case ReasonKind::kAccumulates:
      return "accumulates in float32 and gains from low-precision operands";
    case ReasonKind::kNeedsFloat32:
      return "computes in float32 (exponentials, reductions, norms or losses)";
    case ReasonKind::kCasts:
      return "casts to the dtype of its attribute";
    case ReasonKind::kStatistic:
      return "scales, shifts and statistics keep their dtype";
    case ReasonKind::kIndex:
      return "indices, lengths, axes and masks are never rounded";
    case ReasonKind::kNotRead:
      return "not read at inference";
    case ReasonKind::kIntegers:
      if (reason.cause == Reason::kNone) return "counts as integers, which are never rounded";
      return cause() + " counts as integers, which are never rounded";
    case ReasonKind::kNoFloats:
      return "reads no tensor that could be rounded";
    case ReasonKind::kListed:
    case ReasonKind::kUser:
      return details[reason.detail];
    case ReasonKind::kReadsLow:
      return cause() + (produced[reason.cause] == target ? " is in low precision" : " is read in low precision");
    case ReasonKind::kSharesCast:
      return cause() + " is there in low precision for other readers anyway";
    case ReasonKind::kCastsLess:
      return "rounding before it or after it gives the same bits, and " + cause() + " is the smaller tensor to cast";
    case ReasonKind::kConstant:
      return "computed from parameters alone, which are cast once";
    case ReasonKind::kReadsHigh:
      return cause() + " is not in low precision";
    case ReasonKind::kNoneLow:
      return "nothing that it reads is in low precision";
    case ReasonKind::kNotWanted:
      if (reason.cause == Reason::kNone) return "it is read only as an output of the model";
      return "what reads it, " + cause() + ", is not computed in low precision";
    case ReasonKind::kRefused:
      return "the operator refuses low precision: " + details[reason.detail];
    case ReasonKind::kWrongDType:
      return cause() + " has a dtype that is not converted, or none that is known";
  }
  return "";
}

std::string Decision::Print(const Graph& graph) const {
  std::string text;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const Node& node = graph.node(id);
    if (node.is_variable()) continue;
    const std::string why = Sentence(graph, reasons[id]);
    const std::vector<std::string> inputs = node.input_names();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const ReasonKind kind = slot_reasons[first_slot[id] + i];
      const std::string reason = kind == reasons[id].kind ? why : Sentence(graph, {kind});
      text += fmt::format("{}.{} <- {}: {}\n", node.name(), inputs[i], NameOf(ReadAt(id, i)), reason);
    }
    const std::vector<std::string> outputs = node.output_names();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const DType dtype = produced[graph.EntryOf(id, static_cast<std::uint32_t>(i))];
      text += fmt::format("{}.{} -> {}: {}\n", node.name(), outputs[i], NameOf(dtype), why);
    }
  }
  return text;
}

Decision Decide(const Graph& graph, const Types& types, const std::vector<bool>& parameters,
                const ConvertOptions& options) {
  if (!IsLowPrecision(options.target)) {
    Throw<ArgumentError>("target dtype: expected bfloat16 or float16, got {}", NameOf(options.target));
  }
  PrecisionChoices choices = ChoosePrecision(graph, options);
  Decision decision;
  decision.target = options.target;
  decision.policy = options.policy;
  decision.first_slot = FirstSlots(graph);
  decision.low.resize(graph.num_nodes());
  decision.reasons = choices.reasons;
  decision.details = std::move(choices.details);
  decision.unknown_names = std::move(choices.unknown_names);
  decision.heads = HeadDTypes(graph, types, options);
  std::vector<bool> writes_float32(graph.num_entries());
  const LowForms forms(graph, types, options, &decision);
  const SpreadContext context{graph, types, parameters, options, choices, forms};
  if (options.policy == PrecisionPolicy::kMXNet) {
    SpreadByMXNetRules(context, &decision);
  } else {
    SpreadByFacts(context, &decision, &writes_float32);
  }
  Settler(graph, types, choices, forms, writes_float32, &decision).Run();
  return decision;
}

}  // namespace amp
