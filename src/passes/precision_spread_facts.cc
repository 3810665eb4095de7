#include <algorithm>
#include <deque>

#include "passes/amp_facts.h"
#include "passes/precision_spread.h"

namespace amp {
namespace {

// First what can be low and is wanted low, then casts move, one node at a time, to where they cost least. A node only
// ever changes from float32 to low, and what allows one node to change is never undone by another: the result is a
// least fixed point and does not depend on the order of nodes.
class FactSpread {
 public:
  FactSpread(const SpreadContext& context, Decision* decision, std::vector<bool>* writes_float32)
      : c_(context),
        d_(*decision),
        writes_float32_(*writes_float32),
        can_(context.graph.num_entries()),
        constant_(context.graph.num_entries()),
        low_readers_(context.graph.num_entries()),
        high_readers_(context.graph.num_entries()),
        queued_(context.graph.num_nodes()) {}

  void Run() {
    FindPossible();
    FindWanted();
    CountReaders();
    MoveCasts();
    for (NodeId id = 0; id < c_.graph.num_nodes(); ++id) Settle(id);
  }

 private:
  std::uint32_t NumOutputs(NodeId id) const { return static_cast<std::uint32_t>(c_.graph.node(id).num_outputs()); }
  EntryId Output(NodeId id, std::uint32_t index) const { return c_.graph.EntryOf(id, index); }

  bool IsTargetCast(NodeId id) const {
    return c_.choices.roles[id] == PrecisionRole::kCast && c_.WasLow(Output(id, 0));
  }
  // What casts widened can as well be read without them: an operator between such casts and casts back computes the
  // same bits without.
  bool IsWidenedLow(EntryId entry) const {
    while (c_.types[entry].dtype == DType::kFloat32) {
      const NodeId id = c_.graph.NodeOf(entry);
      const Node& node = c_.graph.node(id);
      if (node.is_variable() || FactsOf(node).arithmetic != Arithmetic::kCasts) return false;
      entry = c_.graph.InputsOf(id)[c_.graph.IndexOf(entry)];  // amp_multicast has as many inputs as outputs
    }
    return c_.WasLow(entry);
  }
  bool IsWidest(NodeId id) const { return c_.choices.roles[id] == PrecisionRole::kWidest; }
  bool MayFollow(NodeId id) const {
    return c_.forms.CanBeLow(id) && (c_.choices.roles[id] == PrecisionRole::kNeutral || IsWidest(id));
  }
  bool IsPulledDown(NodeId id, EntryId input) const { return !IsWidest(id) && c_.IsParameter(input); }
  bool IsChosenLow(NodeId id) const { return c_.choices.roles[id] == PrecisionRole::kLow && c_.forms.CanBeLow(id); }

  // ---- what can be low without a cast ----

  void FindPossible() {
    for (NodeId id = 0; id < c_.graph.num_nodes(); ++id) {
      const Node& node = c_.graph.node(id);
      if (node.is_variable()) {
        can_[Output(id, 0)] = c_.WasLow(Output(id, 0));
        constant_[Output(id, 0)] = c_.parameters[id];
        continue;
      }
      const bool possible = IsChosenLow(id) || (MayFollow(id) && AllInputsCan(id));
      const bool constant = MayFollow(id) && Commutes(id) && AllInputsConstant(id);
      for (std::uint32_t i = 0; i < NumOutputs(id); ++i) {
        can_[Output(id, i)] = c_.WasLow(Output(id, i)) || (possible && c_.forms.IsLowOutput(Output(id, i)));
        constant_[Output(id, i)] = constant;
      }
    }
  }

  bool AllInputsCan(NodeId id) const {
    bool any = false;
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (!c_.forms.IsLowSlot(id, slot) || IsPulledDown(id, inputs[slot])) continue;
      if (!can_[inputs[slot]]) return false;
      any = true;
    }
    return any;
  }

  bool AllInputsConstant(NodeId id) const {
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (c_.forms.IsLowSlot(id, slot) && !constant_[inputs[slot]]) return false;
    }
    return true;
  }

  bool Commutes(NodeId id) const {
    const Node& node = c_.graph.node(id);
    const AmpFacts& facts = FactsOf(node);
    return facts.commutes && facts.commutes(node, c_.options.target);
  }

  // ---- what somebody gains from ----

  void FindWanted() {
    std::vector<bool> wanted(c_.graph.num_entries());
    for (std::size_t i = 0; i < d_.heads.size(); ++i) {
      if (d_.heads[i] == c_.options.target) wanted[c_.graph.EntryOf(c_.graph.outputs()[i])] = true;
    }
    for (NodeId id = static_cast<NodeId>(c_.graph.num_nodes()); id-- > 0;) {
      if (c_.graph.node(id).is_variable()) continue;
      d_.low[id] = IsChosenLow(id) || (MayFollow(id) && AnyOutput(id, wanted) && AnyOutput(id, can_));
      const auto inputs = c_.graph.InputsOf(id);
      for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
        if (IsTargetCast(id) || (d_.low[id] && c_.forms.IsLowSlot(id, slot))) wanted[inputs[slot]] = true;
      }
    }
  }

  bool AnyOutput(NodeId id, const std::vector<bool>& what) const {
    for (std::uint32_t i = 0; i < NumOutputs(id); ++i) {
      if (what[Output(id, i)]) return true;
    }
    return false;
  }

  // ---- where casts go ----

  void CountReaders() {
    for (std::size_t i = 0; i < d_.heads.size(); ++i) {
      const EntryId entry = c_.graph.EntryOf(c_.graph.outputs()[i]);
      ++(d_.heads[i] == c_.options.target ? low_readers_ : high_readers_)[entry];
    }
    for (NodeId id = 0; id < c_.graph.num_nodes(); ++id) {
      if (c_.graph.node(id).is_variable()) continue;
      const auto inputs = c_.graph.InputsOf(id);
      for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
        if (c_.forms.KindOf(id, slot) == ReasonKind::kNotRead) continue;
        const bool reads_low = IsTargetCast(id) || (d_.low[id] && c_.forms.IsLowSlot(id, slot));
        ++(reads_low ? low_readers_ : high_readers_)[inputs[slot]];
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
    const bool may_change = !c_.graph.node(id).is_variable() && !d_.low[id] && MayFollow(id);
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
      if (!Commutes(id)) return false;
      if (c_.options.cast_params_offline && AllInputsConstant(id)) {
        *reason = {ReasonKind::kConstant};
        return true;
      }
      const EntryId input = SingleInput(id);
      *reason = {ReasonKind::kCastsLess, input};
      return input != Reason::kNone && Elements(input) > 0 && Elements(input) < OutputElements(id);
    }
    const EntryId input = SingleInput(id);
    *reason = {ReasonKind::kCastsLess, Output(id, 0)};
    return input != Reason::kNone && IsLowAnyway(input) && high_readers_[input] == 1 && Commutes(id) &&
           OutputElements(id) > 0 && OutputElements(id) < Elements(input);
  }

  bool OnlyReadLow(NodeId id) const {
    bool any = false;
    for (std::uint32_t i = 0; i < NumOutputs(id); ++i) {
      if (high_readers_[Output(id, i)] != 0) return false;
      any = any || low_readers_[Output(id, i)] != 0;
    }
    return any;
  }

  // Some input, if all of them exist in low precision, parameters aside, or if all were widened.
  EntryId SharedInput(NodeId id) const {
    EntryId shared = Reason::kNone;
    bool all_exist = true, all_widened = true;
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (!c_.forms.IsLowSlot(id, slot) || IsPulledDown(id, inputs[slot])) continue;
      all_exist = all_exist && (IsLow(inputs[slot]) || low_readers_[inputs[slot]] != 0);
      all_widened = all_widened && IsWidenedLow(inputs[slot]);
      if (shared == Reason::kNone) shared = inputs[slot];
    }
    return all_exist || all_widened ? shared : Reason::kNone;
  }

  // The only tensor that the node reads in either precision.
  EntryId SingleInput(NodeId id) const {
    EntryId single = Reason::kNone;
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (!c_.forms.IsLowSlot(id, slot)) continue;
      if (single != Reason::kNone) return Reason::kNone;
      single = inputs[slot];
    }
    return single;
  }

  bool IsLow(EntryId entry) const {
    return c_.WasLow(entry) || (d_.low[c_.graph.NodeOf(entry)] && c_.forms.IsLowOutput(entry));
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
  // Of the outputs that somebody reads.
  std::int64_t OutputElements(NodeId id) const {
    std::int64_t sum = 0;
    for (std::uint32_t i = 0; i < NumOutputs(id); ++i) {
      if (low_readers_[Output(id, i)] + high_readers_[Output(id, i)] == 0) continue;
      if (Elements(Output(id, i)) == 0) return 0;
      sum += Elements(Output(id, i));
    }
    return sum;
  }

  void GoLow(NodeId id, const Reason& reason) {
    d_.low[id] = true;
    d_.reasons[id] = reason;
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (c_.forms.IsLowSlot(id, slot)) NowReadLow(inputs[slot]);
    }
    for (std::uint32_t i = 0; i < NumOutputs(id); ++i) EnqueueReaders(Output(id, i));
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

  // ---- reasons ----

  void Settle(NodeId id) {
    if (c_.graph.node(id).is_variable()) return;
    for (std::uint32_t i = 0; i < NumOutputs(id); ++i) {
      const EntryId entry = Output(id, i);
      if (WritesEither(entry)) writes_float32_[entry] = high_readers_[entry] != 0;
    }
    const PrecisionRole role = c_.choices.roles[id];
    if (role == PrecisionRole::kKeep || role == PrecisionRole::kCast) return;
    if (!c_.forms.CanBeLow(id)) {
      d_.reasons[id] = c_.forms.RefusalOf(id);
    } else if (role != PrecisionRole::kLow && !d_.low[id]) {
      d_.reasons[id] = WhyHigh(id);
    } else if (role != PrecisionRole::kLow && d_.reasons[id].kind == ReasonKind::kVariable) {
      d_.reasons[id] = {ReasonKind::kReadsLow, FirstInput(id)};
    }
  }

  EntryId FirstInput(NodeId id) const {
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (c_.forms.IsLowSlot(id, slot) && !IsPulledDown(id, inputs[slot])) return inputs[slot];
    }
    return Reason::kNone;
  }

  Reason WhyHigh(NodeId id) const {
    bool any = false;
    EntryId high = Reason::kNone;
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (!c_.forms.IsLowSlot(id, slot) || IsPulledDown(id, inputs[slot])) continue;
      if (can_[inputs[slot]]) {
        any = true;
      } else if (high == Reason::kNone) {
        high = inputs[slot];
      }
    }
    if (high != Reason::kNone) return {any ? ReasonKind::kReadsHigh : ReasonKind::kNoneLow, high};
    if (!any) return {ReasonKind::kNoneLow};
    return {ReasonKind::kNotWanted, HighReader(id)};
  }

  // What a reader that stays float32 computes from it; none where only heads read it. Of several readers the one whose
  // name comes first, because that does not depend on the order of nodes.
  EntryId HighReader(NodeId id) const {
    EntryId found = Reason::kNone;
    for (std::uint32_t i = 0; i < NumOutputs(id); ++i) {
      for (const Consumer& reader : c_.graph.ConsumersOf(Output(id, i))) {
        const Node& node = c_.graph.node(reader.node);
        if (d_.low[reader.node] || node.num_outputs() == 0) continue;
        if (found == Reason::kNone || node.name() < c_.graph.node(c_.graph.NodeOf(found)).name()) {
          found = Output(reader.node, 0);
        }
      }
    }
    return found;
  }

  const SpreadContext& c_;
  Decision& d_;
  std::vector<bool>& writes_float32_;
  std::vector<bool> can_;       // entries that need no cast to be low
  std::vector<bool> constant_;  // entries that parameters alone determine, by operators that commute with rounding
  std::vector<std::uint32_t> low_readers_, high_readers_;  // of each entry; heads count, too
  std::deque<NodeId> queue_;
  std::vector<bool> queued_;
};

}  // namespace

void SpreadByFacts(const SpreadContext& context, Decision* decision, std::vector<bool>* writes_float32) {
  FactSpread(context, decision, writes_float32).Run();
}

}  // namespace amp
