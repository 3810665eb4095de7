#include "passes/precision/tensor_roots.h"

#include <algorithm>

#include "passes/op_facts.h"
#include "passes/whose_cast.h"

namespace amp {

bool IsFloatCast(const Graph& graph, const Types& types, NodeId id, std::size_t slot) {
  const Node& node = graph.node(id);
  if (!IsCastOfConversion(node)) return false;
  return IsFloat(types[graph.InputsOf(id)[slot]].dtype) && IsFloat(types[graph.EntryOf(id, slot)].dtype);
}

bool IsOutputOfFloatCast(const Graph& graph, const Types& types, EntryId entry) {
  const NodeId id = graph.NodeOf(entry);
  const std::uint32_t slot = graph.IndexOf(entry);
  return !graph.node(id).is_variable() && slot < graph.InputsOf(id).size() && IsFloatCast(graph, types, id, slot);
}

LiveParts::LiveParts(const Graph& graph) : nodes(graph.num_nodes()), entries(graph.num_entries()) {
  for (const NodeEntry& output : graph.outputs()) entries[graph.EntryOf(output)] = true;
  for (NodeId id = static_cast<NodeId>(graph.num_nodes()); id-- > 0;) {
    const auto inputs = graph.InputsOf(id);
    const auto outputs = graph.OutputsOf(id);
    const bool is_multicast = graph.node(id).IsOp("amp_multicast") && IsCastOfConversion(graph.node(id));
    bool is_live = nodes[id] || outputs.size() == 0;
    for (const EntryId output : outputs) is_live = is_live || entries[output];
    nodes[id] = is_live;
    for (const NodePtr& before : graph.node(id).control_deps()) {
      if (is_live) nodes[graph.IdOf(before.get())] = true;
    }
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (is_multicast ? entries[outputs[slot]] : is_live) entries[inputs[slot]] = true;
    }
  }
}

TensorRoots::TensorRoots(const PropagationContext& context)
    : c_(context),
      cast_again_(context.graph.num_entries()),
      root_of_(context.graph.num_entries()),
      source_of_(context.graph.num_entries()) {
  FindCastAgain();
}

void TensorRoots::FindCastAgain() {
  std::vector<EntryId> origins(c_.graph.num_entries());
  std::vector<bool> rounded(c_.graph.num_entries());
  for (NodeId id = 0; id < c_.graph.num_nodes(); ++id) {
    for (const EntryId output : c_.graph.OutputsOf(id)) {
      origins[output] = output;
      const std::uint32_t slot = c_.graph.IndexOf(output);
      if (slot >= c_.graph.InputsOf(id).size() || !IsFloatCast(c_.graph, c_.types, id, slot)) continue;
      const EntryId input = c_.graph.InputsOf(id)[slot];
      const bool reads_low = c_.choices.roles[id] == PrecisionCategory::kLow;
      origins[output] = origins[input];
      rounded[output] = rounded[input] || reads_low || c_.WasLow(output);
      if ((rounded[input] || reads_low) && !c_.WasLow(output)) cast_again_[origins[output]] = true;
    }
  }
}

void TensorRoots::AddFixed(EntryId entry, DType dtype) {
  root_of_[entry] = source_of_[entry] = static_cast<RootId>(roots_.size());
  const Choice choice = dtype == c_.options.target ? Choice::Low() : Choice::High();
  roots_.push_back({.entry = entry, .dtype = dtype, .choice = choice});
}

void TensorRoots::AddChosen(EntryId entry, Choice choice) {
  if (!choice.is_open()) return AddFixed(entry, choice == Choice::Low() ? c_.options.target : DType::kFloat32);
  root_of_[entry] = source_of_[entry] = static_cast<RootId>(roots_.size());
  roots_.push_back({.entry = entry, .choice = choice});
}

TensorUse& TensorRoots::UseOf(RootId root, DType dtype) {
  std::vector<TensorUse>& uses = roots_[root].uses;
  const auto found = std::find_if(uses.begin(), uses.end(), [&](const TensorUse& use) { return use.dtype == dtype; });
  if (found != uses.end()) return *found;
  uses.push_back({.dtype = dtype});
  return uses.back();
}

// What the root is in another dtype: the same root, unless values are lost.
TensorRoots::RootId TensorRoots::Convert(RootId from, EntryId output, DType dtype) {
  const bool is_open = roots_[from].choice.is_open();
  const bool keeps =
      is_open ? dtype == DType::kFloat32 || dtype == DType::kFloat64 : IsLossless(roots_[from].dtype, dtype);
  if (keeps) return from;
  UseOf(from, dtype).is_read = true;
  if (is_open && dtype == c_.options.target) return from;  // nothing but readers of the target follows
  const auto [place, is_new] = rounded_.emplace(std::pair(from, dtype), static_cast<RootId>(roots_.size()));
  if (is_new) AddFixed(output, dtype);
  // The first of several casts in the alphabet stands for all, whatever the order of nodes.
  EntryId& entry = roots_[place->second].entry;
  if (c_.graph.EntryName(output) < c_.graph.EntryName(entry)) entry = output;
  return place->second;
}

void TensorRoots::AddCast(NodeId id, std::size_t slot, bool reads_low) {
  const EntryId input = c_.graph.InputsOf(id)[slot], output = c_.graph.EntryOf(id, slot);
  const DType dtype = c_.types[output].dtype;
  RootId source = root_of_[input];
  if (reads_low) source = Convert(source, output, c_.options.target);
  root_of_[output] = Convert(source, output, dtype);
  source_of_[output] = source;
  if (!IsSingleCast(output)) return;
  TensorUse& use = UseOf(source, dtype);
  // A cast of what is rounded already changes nothing; it stays where it is an output of the model.
  if (roots_[source].choice.is_open() && dtype == c_.options.target && c_.WasLow(input)) {
    use.named_rounded += c_.graph.IsOutput(output) && c_.graph.node(id).op_name() == "amp_cast";
  } else {
    AddExisting(id, &use);
  }
}

bool TensorRoots::IsSingleCast(EntryId entry) const {
  const NodeId id = c_.graph.NodeOf(entry);
  return c_.graph.node(id).op_name() != "amp_multicast" && c_.graph.IndexOf(entry) == 0 &&
         !c_.graph.node(id).is_variable() && IsFloatCast(c_.graph, c_.types, id, 0);
}

bool TensorRoots::Rounds(EntryId cast) const {
  const EntryId input = c_.graph.InputsOf(c_.graph.NodeOf(cast))[c_.graph.IndexOf(cast)];
  return !IsLossless(c_.types[input].dtype, c_.types[cast].dtype);
}

void TensorRoots::AddExisting(NodeId id, TensorUse* use) const {
  const Node& node = c_.graph.node(id);
  if (c_.graph.IsOutput(c_.graph.EntryOf(id, 0))) {
    use->has_output_cast = true;
    use->output_casts += node.op_name() == "amp_cast";
    return;
  }
  if (!node.control_deps().empty()) return;
  if (use->existing == Reason::kNone || node.name() < c_.graph.node(use->existing).name()) use->existing = id;
}

void TensorRoots::ReadAsItComes(EntryId entry) {
  if (IsOutputOfFloatCast(c_.graph, c_.types, entry)) return ReadAs(entry, c_.types[entry].dtype);
  RootOf(entry).is_read_as_it_is = true;
}

void TensorRoots::AddOutput(EntryId entry, DType dtype) {
  ReadAs(entry, dtype);
  const bool is_same = c_.types[entry].dtype == dtype;
  if (is_same && IsSingleCast(entry)) return;  // which has been counted
  if (source_of_[entry] == root_of_[entry] && RootOf(entry).entry == entry) {
    UseOf(root_of_[entry], dtype).is_output = true;
  } else if (is_same && Rounds(entry)) {
    ++UseOf(source_of_[entry], dtype).named_rounded;
  } else {
    ++UseOf(root_of_[entry], dtype).named_copies;
  }
}

}  // namespace amp
