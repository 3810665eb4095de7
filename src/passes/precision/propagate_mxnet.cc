#include <algorithm>

#include "passes/precision/propagate_mxnet.h"

namespace amp {
namespace {

// The least fixed point, found level by level, so that neither it nor its reasons depend on the order of nodes. An
// entry exists in low precision once it is low itself or some reader has it cast.
class MXNetPropagation {
 public:
  MXNetPropagation(const PropagationContext& context, Decision* decision)
      : c_(context), d_(*decision), level_(context.graph.num_entries(), kNever), missing_(context.graph.num_nodes()) {}

  void Run() {
    for (EntryId e = 0; e < c_.graph.num_entries(); ++e) {
      if (c_.WasLow(e)) Exists(e);
    }
    for (NodeId id = 0; id < c_.graph.num_nodes(); ++id) {
      if (c_.choices.roles[id] == PrecisionCategory::kLow && c_.low_types.CanBeLow(id)) GoLow(id);
    }
    while (!fresh_.empty()) Step();
    for (NodeId id = 0; id < c_.graph.num_nodes(); ++id) GiveReason(id);
  }

 private:
  static constexpr std::uint32_t kNever = ~std::uint32_t{0};

  void Step() {
    std::vector<NodeId> followers;
    for (const EntryId entry : std::exchange(fresh_, {})) {
      for (const Consumer& reader : c_.graph.ConsumersOf(entry)) {
        if (MayFollow(reader)) followers.push_back(reader.node);
      }
    }
    ++now_;
    for (const NodeId id : followers) GoLow(id);
  }

  // A neutral node needs one low input, a widest one all of them.
  bool MayFollow(const Consumer& reader) {
    const NodeId id = reader.node;
    if (d_.low[id] || !c_.low_types.CanBeLow(id) || !c_.low_types.IsLowSlot(id, reader.slot)) return false;
    if (c_.choices.roles[id] == PrecisionCategory::kNeutral) return true;
    if (!IsWidest(id)) return false;
    if (missing_[id] == 0) missing_[id] = NumLowSlots(id);
    return --missing_[id] == 0;
  }

  bool IsWidest(NodeId id) const { return c_.choices.roles[id] == PrecisionCategory::kWidest; }

  std::uint32_t NumLowSlots(NodeId id) const {
    std::uint32_t count = 0;
    for (std::size_t slot = 0; slot < c_.graph.InputsOf(id).size(); ++slot) count += c_.low_types.IsLowSlot(id, slot);
    return count;
  }

  void GoLow(NodeId id) {
    if (d_.low[id]) return;
    d_.low[id] = true;
    const auto inputs = c_.graph.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (c_.low_types.IsLowSlot(id, slot)) Exists(inputs[slot]);
    }
    for (int i = 0; i < c_.graph.node(id).num_outputs(); ++i) {
      const EntryId entry = c_.graph.EntryOf(id, i);
      if (c_.low_types.IsLowOutput(entry)) Exists(entry);
    }
  }

  void Exists(EntryId entry) {
    if (level_[entry] != kNever) return;
    level_[entry] = now_;
    fresh_.push_back(entry);
  }

  bool IsLow(EntryId entry) const {
    return c_.WasLow(entry) || (d_.low[c_.graph.NodeOf(entry)] && c_.low_types.IsLowOutput(entry));
  }

  void GiveReason(NodeId id) {
    const PrecisionCategory role = c_.choices.roles[id];
    if (role == PrecisionCategory::kKeep || role == PrecisionCategory::kCast) return;
    if (!c_.low_types.CanBeLow(id)) {
      d_.reasons[id] = c_.low_types.RefusalOf(id);
    } else if (role != PrecisionCategory::kLow) {
      d_.reasons[id] = d_.low[id] ? WhyLow(id) : WhyHigh(id);
    }
  }

  // The input that was low first.
  Reason WhyLow(NodeId id) const {
    const auto inputs = c_.graph.InputsOf(id);
    EntryId first = Reason::kNone;
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (!c_.low_types.IsLowSlot(id, slot)) continue;
      if (first == Reason::kNone || level_[inputs[slot]] < level_[first]) first = inputs[slot];
    }
    return {IsLow(first) ? ReasonKind::kReadsLow : ReasonKind::kSharesCast, first};
  }

  Reason WhyHigh(NodeId id) const {
    const auto inputs = c_.graph.InputsOf(id);
    bool any = false;
    EntryId high = Reason::kNone;
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (!c_.low_types.IsLowSlot(id, slot)) continue;
      if (level_[inputs[slot]] != kNever) {
        any = true;
      } else if (high == Reason::kNone) {
        high = inputs[slot];
      }
    }
    return {any ? ReasonKind::kReadsHigh : ReasonKind::kNoneLow, high};
  }

  const PropagationContext& c_;
  Decision& d_;
  std::uint32_t now_ = 0;
  std::vector<std::uint32_t> level_;    // by entry: since when it exists in low precision
  std::vector<std::uint32_t> missing_;  // by widest node: low slots whose entries do not exist yet
  std::vector<EntryId> fresh_;          // entries of the present level
};

}  // namespace

void PropagatePrecisionMXNet(const PropagationContext& context, Decision* decision) {
  MXNetPropagation(context, decision).Run();
}

}  // namespace amp
