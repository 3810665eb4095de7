#include "passes/precision/propagate_default.h"

#include <deque>
#include <optional>

#include "passes/op_facts.h"
#include "passes/whose_cast.h"

namespace amp {
namespace {

// What both halves of the propagation ask of nodes and entries.
class DefaultRules {
 public:
  DefaultRules(const PropagationContext& context, const Decision& decision)
      : c_(context), d_(decision), can_(context.graph.num_entries()), constant_(context.graph.num_entries()) {
    FindPossible();
  }

  // The entry needs no cast to be low.
  bool Can(EntryId entry) const { return can_[entry]; }
  bool IsTargetCast(NodeId id) const {
    return c_.choices.roles[id] == PrecisionCategory::kCast && c_.WasLow(c_.graph.EntryOf(id, 0));
  }
  // What casts of a conversion widened can as well be read without them: an operator between such casts and casts back
  // computes the same bits without.
  bool IsWidenedLow(EntryId entry) const {
    while (c_.types[entry].dtype == DType::kFloat32) {
      const NodeId id = c_.graph.NodeOf(entry);
      const Node& node = c_.graph.node(id);
      if (!IsCastOfConversion(node)) return false;
      entry = c_.graph.InputsOf(id)[c_.graph.IndexOf(entry)];  // amp_multicast has as many inputs as outputs
    }
    return c_.WasLow(entry);
  }
  bool ReadsLow(NodeId id, std::size_t slot) const {
    return IsTargetCast(id) || (d_.low[id] && c_.low_types.IsLowSlot(id, slot));
  }
  bool IsWidest(NodeId id) const { return c_.choices.roles[id] == PrecisionCategory::kWidest; }
  bool MayFollow(NodeId id) const {
    return c_.low_types.CanBeLow(id) && (c_.choices.roles[id] == PrecisionCategory::kNeutral || IsWidest(id));
  }
  bool IsPulledDown(NodeId id, EntryId input) const { return !IsWidest(id) && c_.IsParameter(input); }
  bool IsChosenLow(NodeId id) const {
    return c_.choices.roles[id] == PrecisionCategory::kLow && c_.low_types.CanBeLow(id);
  }

  bool AllInputsConstant(NodeId id) const {
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (c_.low_types.IsLowSlot(id, slot) && !constant_[inputs[slot]]) return false;
    }
    return true;
  }

  bool Commutes(NodeId id) const {
    return CommutesWithRounding(c_.graph.node(id), c_.options.target, c_.options.training);
  }

  // The only tensor that the node reads in either precision.
  EntryId SingleInput(NodeId id) const {
    EntryId single = Reason::kNone;
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (!c_.low_types.IsLowSlot(id, slot)) continue;
      if (single != Reason::kNone) return Reason::kNone;
      single = inputs[slot];
    }
    return single;
  }

  bool IsLow(EntryId entry) const {
    return c_.WasLow(entry) || (d_.low[c_.graph.NodeOf(entry)] && c_.low_types.IsLowOutput(entry));
  }
  // Low, and not the result of a node that could as well write float32.
  bool IsLowAnyway(EntryId entry) const { return IsLow(entry) && !WritesEither(entry); }
  bool WritesEither(EntryId entry) const {
    const NodeId id = c_.graph.NodeOf(entry);
    const Node& node = c_.graph.node(id);
    return !node.is_variable() && d_.low[id] && c_.graph.IndexOf(entry) == 0 && !c_.WasLow(entry) &&
           FactsOf(node).arithmetic == Arithmetic::kAccumulates;
  }

  // 0 where the shape is not known.
  std::int64_t Elements(EntryId entry) const {
    const Shape& shape = c_.types[entry].shape;
    return shape.fully_known() ? shape.size() : 0;
  }

 private:
  void FindPossible() {
    for (NodeId id = 0; id < c_.graph.num_nodes(); ++id) {
      const Node& node = c_.graph.node(id);
      if (node.is_variable()) {
        can_[c_.graph.EntryOf(id, 0)] = c_.WasLow(c_.graph.EntryOf(id, 0));
        constant_[c_.graph.EntryOf(id, 0)] = c_.model.IsParameter(id);
        continue;
      }
      const bool possible = IsChosenLow(id) || (MayFollow(id) && AllInputsCan(id));
      const bool constant = MayFollow(id) && Commutes(id) && AllInputsConstant(id);
      for (const EntryId output : c_.graph.OutputsOf(id)) {
        can_[output] = c_.WasLow(output) || (possible && c_.low_types.IsLowOutput(output));
        constant_[output] = constant;
      }
    }
  }

  bool AllInputsCan(NodeId id) const {
    bool any = false;
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (!c_.low_types.IsLowSlot(id, slot) || IsPulledDown(id, inputs[slot])) continue;
      if (!can_[inputs[slot]]) return false;
      any = true;
    }
    return any;
  }

  const PropagationContext& c_;
  const Decision& d_;
  std::vector<bool> can_;
  std::vector<bool> constant_;  // entries that parameters alone determine, by operators that commute with rounding
};

// What something gains from, from the outputs of the model backwards.
void FindNeeded(const PropagationContext& c, const DefaultRules& rules, Decision* decision) {
  Decision& d = *decision;
  std::vector<bool> needed(c.graph.num_entries());
  for (std::size_t i = 0; i < d.output_dtypes.size(); ++i) {
    if (d.output_dtypes[i] == c.options.target) needed[c.graph.EntryOf(c.graph.outputs()[i])] = true;
  }
  for (NodeId id = static_cast<NodeId>(c.graph.num_nodes()); id-- > 0;) {
    if (c.graph.node(id).is_variable()) continue;
    bool any_needed = false, any_can = false;
    for (const EntryId output : c.graph.OutputsOf(id)) {
      any_needed = any_needed || needed[output];
      any_can = any_can || rules.Can(output);
    }
    d.low[id] = rules.IsChosenLow(id) || (rules.MayFollow(id) && any_needed && any_can);
    const auto inputs = c.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (rules.ReadsLow(id, slot)) needed[inputs[slot]] = true;
    }
  }
}

// Moves casts, one node at a time, to where they cost least. A node only ever changes from float32 to low, and what
// allows one node to change is never undone by another: the result is a least fixed point and does not depend on the
// order of nodes.
class CastMover {
 public:
  CastMover(const PropagationContext& context, const DefaultRules& rules, Decision* decision)
      : c_(context),
        rules_(rules),
        d_(*decision),
        low_readers_(context.graph.num_entries()),
        high_readers_(context.graph.num_entries()),
        queued_(context.graph.num_nodes()) {}

  void Run() {
    CountReaders();
    MoveCasts();
  }

  bool IsReadHigh(EntryId entry) const { return high_readers_[entry] != 0; }

 private:
  void CountReaders() {
    for (std::size_t i = 0; i < d_.output_dtypes.size(); ++i) {
      const EntryId entry = c_.graph.EntryOf(c_.graph.outputs()[i]);
      ++(d_.output_dtypes[i] == c_.options.target ? low_readers_ : high_readers_)[entry];
    }
    for (NodeId id = 0; id < c_.graph.num_nodes(); ++id) {
      if (c_.graph.node(id).is_variable()) continue;
      const auto inputs = c_.graph.InputsOf(id);
      for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
        if (c_.low_types.KindOf(id, slot) == ReasonKind::kNotRead) continue;
        ++(rules_.ReadsLow(id, slot) ? low_readers_ : high_readers_)[inputs[slot]];
      }
    }
  }

  void MoveCasts() {
    for (NodeId id = static_cast<NodeId>(c_.graph.num_nodes()); id-- > 0;) Enqueue(id);
    while (!queue_.empty()) {
      const NodeId id = queue_.front();
      queue_.pop_front();
      queued_[id] = false;
      Reason reason;
      if (GainsFromLow(id, &reason)) GoLow(id, reason);
    }
  }

  void Enqueue(NodeId id) {
    const bool may_change = !c_.graph.node(id).is_variable() && !d_.low[id] && rules_.MayFollow(id);
    if (!may_change || queued_[id]) return;
    queued_[id] = true;
    queue_.push_back(id);
  }

  bool GainsFromLow(NodeId id, Reason* reason) const {
    if (d_.low[id]) return false;
    if (OnlyReadLow(id)) {
      if (const EntryId shared = SharedInput(id); shared != Reason::kNone) {
        *reason = {ReasonKind::kSharesCast, shared};
        return true;
      }
      if (!rules_.Commutes(id)) return false;
      if (c_.options.cast_params_offline && rules_.AllInputsConstant(id)) {
        *reason = {ReasonKind::kConstant};
        return true;
      }
      const EntryId input = rules_.SingleInput(id);
      *reason = {ReasonKind::kCastsLess, input};
      return input != Reason::kNone && rules_.Elements(input) > 0 && rules_.Elements(input) < OutputElements(id);
    }
    const EntryId input = rules_.SingleInput(id);
    *reason = {ReasonKind::kCastsLess, c_.graph.EntryOf(id, 0)};
    return input != Reason::kNone && rules_.IsLowAnyway(input) && high_readers_[input] == 1 && rules_.Commutes(id) &&
           OutputElements(id) > 0 && OutputElements(id) < rules_.Elements(input);
  }

  bool OnlyReadLow(NodeId id) const {
    bool any = false;
    for (const EntryId output : c_.graph.OutputsOf(id)) {
      if (high_readers_[output] != 0) return false;
      any = any || low_readers_[output] != 0;
    }
    return any;
  }

  // Some input, if all of them exist in low precision, parameters aside, or if all were widened.
  EntryId SharedInput(NodeId id) const {
    EntryId shared = Reason::kNone;
    bool all_exist = true, all_widened = true;
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (!c_.low_types.IsLowSlot(id, slot) || rules_.IsPulledDown(id, inputs[slot])) continue;
      all_exist = all_exist && (rules_.IsLow(inputs[slot]) || low_readers_[inputs[slot]] != 0);
      all_widened = all_widened && rules_.IsWidenedLow(inputs[slot]);
      if (shared == Reason::kNone) shared = inputs[slot];
    }
    return all_exist || all_widened ? shared : Reason::kNone;
  }

  // The number of elements of the outputs that are read; 0 where it is unknown.
  std::int64_t OutputElements(NodeId id) const {
    std::int64_t sum = 0;
    for (const EntryId output : c_.graph.OutputsOf(id)) {
      if (low_readers_[output] + high_readers_[output] == 0) continue;
      if (rules_.Elements(output) == 0) return 0;
      sum += rules_.Elements(output);
    }
    return sum;
  }

  void GoLow(NodeId id, const Reason& reason) {
    d_.low[id] = true;
    d_.reasons[id] = reason;
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (c_.low_types.IsLowSlot(id, slot)) NowReadLow(inputs[slot]);
    }
    for (const EntryId output : c_.graph.OutputsOf(id)) EnqueueReaders(output);
  }

  // One reader more in low precision, one less in float32: some nodes may gain from that.
  void NowReadLow(EntryId entry) {
    ++low_readers_[entry];
    --high_readers_[entry];
    if (high_readers_[entry] == 0) Enqueue(c_.graph.NodeOf(entry));
    if (high_readers_[entry] == 1 || low_readers_[entry] == 1) EnqueueReaders(entry);
  }

  void EnqueueReaders(EntryId entry) {
    for (const Consumer& reader : c_.graph.ConsumersOf(entry)) Enqueue(reader.node);
  }

  const PropagationContext& c_;
  const DefaultRules& rules_;
  Decision& d_;
  std::vector<std::uint32_t> low_readers_, high_readers_;  // of each entry; outputs of the model count, too
  std::deque<NodeId> queue_;
  std::vector<bool> queued_;
};

// Why nodes are in the precision that they are in.
class ReasonFinder {
 public:
  ReasonFinder(const PropagationContext& context, const DefaultRules& rules, const Decision& decision)
      : c_(context), rules_(rules), d_(decision) {}

  // The reason of a node that is not chosen by itself; nullopt where it has one.
  std::optional<Reason> Find(NodeId id) const {
    const PrecisionCategory role = c_.choices.roles[id];
    if (role == PrecisionCategory::kKeep || role == PrecisionCategory::kCast) return std::nullopt;
    if (!c_.low_types.CanBeLow(id)) return c_.low_types.RefusalOf(id);
    if (role == PrecisionCategory::kLow) return std::nullopt;
    if (!d_.low[id]) return WhyHigh(id);
    if (d_.reasons[id].kind != ReasonKind::kVariable) return std::nullopt;
    return Reason{ReasonKind::kReadsLow, FirstInput(id)};
  }

 private:
  EntryId FirstInput(NodeId id) const {
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (c_.low_types.IsLowSlot(id, slot) && !rules_.IsPulledDown(id, inputs[slot])) return inputs[slot];
    }
    return Reason::kNone;
  }

  Reason WhyHigh(NodeId id) const {
    bool any = false;
    EntryId high = Reason::kNone;
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (!c_.low_types.IsLowSlot(id, slot) || rules_.IsPulledDown(id, inputs[slot])) continue;
      if (rules_.Can(inputs[slot])) {
        any = true;
      } else if (high == Reason::kNone) {
        high = inputs[slot];
      }
    }
    if (high != Reason::kNone) return {any ? ReasonKind::kReadsHigh : ReasonKind::kNoneLow, high};
    if (!any) return {ReasonKind::kNoneLow};
    return {ReasonKind::kNotWanted, HighReader(id)};
  }

  // What a reader that stays float32 computes from it; none where it is only an output of the model. Of several readers
  // the one whose name comes first, because that does not depend on the order of nodes.
  EntryId HighReader(NodeId id) const {
    EntryId found = Reason::kNone;
    for (const EntryId output : c_.graph.OutputsOf(id)) {
      for (const Consumer& reader : c_.graph.ConsumersOf(output)) {
        const Node& node = c_.graph.node(reader.node);
        if (d_.low[reader.node] || node.num_outputs() == 0) continue;
        if (found == Reason::kNone || node.name() < c_.graph.node(c_.graph.NodeOf(found)).name()) {
          found = c_.graph.EntryOf(reader.node, 0);
        }
      }
    }
    return found;
  }

  const PropagationContext& c_;
  const DefaultRules& rules_;
  const Decision& d_;
};

}  // namespace

void PropagatePrecisionDefault(const PropagationContext& context, Decision* decision,
                               std::vector<bool>* writes_float32) {
  const DefaultRules rules(context, *decision);
  FindNeeded(context, rules, decision);
  CastMover mover(context, rules, decision);
  mover.Run();
  const ReasonFinder reasons(context, rules, *decision);
  for (NodeId id = 0; id < context.graph.num_nodes(); ++id) {
    if (context.graph.node(id).is_variable()) continue;
    for (const EntryId output : context.graph.OutputsOf(id)) {
      if (rules.WritesEither(output)) (*writes_float32)[output] = mover.IsReadHigh(output);
    }
    if (const std::optional<Reason> reason = reasons.Find(id)) decision->reasons[id] = *reason;
  }
}

}  // namespace amp
