#include "passes/precision/propagate_graphamp.h"

#include <string>

#include "passes/op_facts.h"

namespace amp {
namespace {

class SensitivityPropagation {
 public:
  SensitivityPropagation(const PropagationContext& context, Decision* decision, std::vector<bool>* writes_float32)
      : c_(context),
        d_(*decision),
        writes_float32_(*writes_float32),
        read_low_(context.graph.num_entries()),
        read_high_(context.graph.num_entries()) {}

  void Run() {
    for (std::size_t i = 0; i < d_.output_dtypes.size(); ++i) {
      Demand(c_.graph.EntryOf(c_.graph.outputs()[i]), d_.output_dtypes[i] == c_.options.target);
    }
    for (NodeId id = static_cast<NodeId>(c_.graph.num_nodes()); id-- > 0;) {
      if (!c_.graph.node(id).is_variable()) Visit(id);
    }
    for (NodeId id = 0; id < c_.graph.num_nodes(); ++id) {
      if (!c_.graph.node(id).is_variable()) GiveReason(id);
    }
  }

 private:
  // All readers of the node's results were visited before.
  void Visit(NodeId id) {
    d_.low[id] = GoesLow(id);
    if (d_.low[id] && FactsOf(c_.graph.node(id)).arithmetic == Arithmetic::kAccumulates) {
      const EntryId sums = c_.graph.EntryOf(id, 0);
      writes_float32_[sums] = !c_.WasLow(sums) && !IsWanted(sums);
    }
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (c_.low_types.KindOf(id, slot) != ReasonKind::kNotRead) Demand(inputs[slot], ReadsLow(id, slot));
    }
  }

  void Demand(EntryId entry, bool low) { (low ? read_low_ : read_high_)[entry] = true; }

  bool ReadsLow(NodeId id, std::size_t slot) const { return d_.low[id] && c_.low_types.IsLowSlot(id, slot); }

  bool IsWanted(EntryId entry) const {
    return c_.types[entry].dtype == DType::kFloat32 && !c_.low_types.IsNeverRounded(entry) && read_low_[entry] &&
           !read_high_[entry];
  }

  bool GoesLow(NodeId id) const {
    if (!c_.low_types.CanBeLow(id) || RoundsIntegers(id)) return false;
    const PrecisionCategory role = c_.choices.roles[id];
    return role == PrecisionCategory::kLow || (role == PrecisionCategory::kNeutral && AllAreWanted(id));
  }

  // Whether a result would be rounded that counts as integers. A sum of products is written in float32 then.
  bool RoundsIntegers(NodeId id) const {
    if (c_.choices.reasons[id].kind == ReasonKind::kUser) return false;
    if (FactsOf(c_.graph.node(id)).arithmetic == Arithmetic::kAccumulates) return false;
    for (const EntryId output : c_.graph.OutputsOf(id)) {
      if (c_.low_types.IsLowOutput(output) && c_.low_types.IsNeverRounded(output)) return true;
    }
    return false;
  }

  // Hidden results without a reader have no say.
  bool HasSay(NodeId id, EntryId output) const {
    const bool is_visible = static_cast<int>(c_.graph.IndexOf(output)) < c_.graph.node(id).num_visible_outputs();
    return c_.low_types.IsLowOutput(output) && (is_visible || !c_.graph.ConsumersOf(output).empty());
  }

  bool AllAreWanted(NodeId id) const {
    bool any = false;
    for (const EntryId output : c_.graph.OutputsOf(id)) {
      if (!HasSay(id, output)) continue;
      if (!IsWanted(output)) return false;
      any = true;
    }
    return any;
  }

  // ---- reasons ----

  void GiveReason(NodeId id) {
    const PrecisionCategory role = c_.choices.roles[id];
    if (role != PrecisionCategory::kLow && role != PrecisionCategory::kNeutral) return;
    if (!c_.low_types.CanBeLow(id)) {
      d_.reasons[id] = c_.low_types.RefusalOf(id);
    } else if (RoundsIntegers(id)) {
      d_.reasons[id] = {ReasonKind::kIntegers};
    } else if (role == PrecisionCategory::kNeutral) {
      d_.reasons[id] = WhyInfer(id);
    }
  }

  // A chain of reasons goes downstream from here, and upstream only from what refuses. Tensors that cannot be low do
  // not lead back, so that no chain is a circle: a node with such results says who decided in its own text.
  Reason WhyInfer(NodeId id) {
    const EntryId reader = DecidingReader(id);
    if (!WritesLowAlone(id)) return InText(id, reader);
    if (!d_.low[id]) return {ReasonKind::kReaderWantsHigh, reader};
    if (reader == Reason::kNone) return OfUser("output_dtypes asks for its result in low precision");
    return {ReasonKind::kReaderWantsLow, reader};
  }

  bool WritesLowAlone(NodeId id) const {
    for (const EntryId output : c_.graph.OutputsOf(id)) {
      const bool is_read = c_.graph.IsOutput(output) || !c_.graph.ConsumersOf(output).empty();
      if (is_read && !c_.low_types.IsLowOutput(output)) return false;
    }
    return true;
  }

  Reason InText(NodeId id, EntryId reader) {
    const std::string who = reader == Reason::kNone ? "no reader" : c_.graph.EntryName(reader);
    return WithDetail(ReasonKind::kListed,
                      fmt::format("category infer: {} reads in {} what of it can be in low precision", who,
                                  d_.low[id] ? "low precision" : "float32"));
  }
  Reason OfUser(std::string text) { return WithDetail(ReasonKind::kUser, std::move(text)); }
  Reason WithDetail(ReasonKind kind, std::string text) {
    d_.details.push_back(std::move(text));
    return {kind, Reason::kNone, static_cast<std::uint32_t>(d_.details.size() - 1)};
  }

  // What the reader that decided computes; none where that is the caller of the model, or where a result has no reader.
  // Of several readers the one whose name comes first, because that does not depend on the order of nodes.
  EntryId DecidingReader(NodeId id) const {
    EntryId found = Reason::kNone;
    for (const EntryId output : c_.graph.OutputsOf(id)) {
      if (!HasSay(id, output)) continue;
      for (const Consumer& reader : c_.graph.ConsumersOf(output)) {
        const Node& node = c_.graph.node(reader.node);
        const bool is_read = c_.low_types.KindOf(reader.node, reader.slot) != ReasonKind::kNotRead;
        if (!is_read || ReadsLow(reader.node, reader.slot) != d_.low[id] || node.num_visible_outputs() == 0) continue;
        if (found == Reason::kNone || node.name() < c_.graph.node(c_.graph.NodeOf(found)).name()) {
          found = c_.graph.EntryOf(reader.node, 0);
        }
      }
    }
    return found;
  }

  const PropagationContext& c_;
  Decision& d_;
  std::vector<bool>& writes_float32_;
  std::vector<bool> read_low_, read_high_;  // by entry: some reader or output wants it so
};

}  // namespace

void PropagatePrecisionGraphAmp(const PropagationContext& context, Decision* decision,
                                std::vector<bool>* writes_float32) {
  SensitivityPropagation(context, decision, writes_float32).Run();
}

}  // namespace amp
