#include "passes/optimize/constant_values.h"

#include <algorithm>
#include <unordered_set>

#include "passes/op_facts.h"

namespace amp {
namespace {

// Larger tensors take too long, and too much memory, for what is known only while a plan is made.
constexpr std::int64_t kMaxConstantElements = std::int64_t{1} << 24;

bool IsIgnored(const Node& node, std::size_t slot) { return FactsOf(node).RoleOf(slot) == SlotRole::kIgnored; }

}  // namespace

bool ConstantValues::ReadsValues(const Node& node, std::size_t slot) {
  return node.op()->Find<ReadsShapesOnly>() == nullptr && !IsIgnored(node, slot);
}

bool ConstantValues::IsConstant(EntryId entry) {
  if (is_constant_.empty()) FindConstants();
  return is_constant_[graph_.NodeOf(entry)];
}

void ConstantValues::FindConstants() {
  is_constant_.resize(graph_.num_nodes());
  if (runner_.run == nullptr) return;
  for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
    const Node& node = graph_.node(id);
    const bool computes = !node.is_variable() && node.subgraphs().empty() && !graph_.HasControlDeps(id);
    is_constant_[id] = computes && HasConstantInputs(id) && HasSmallOutputs(id);
  }
}

bool ConstantValues::HasConstantInputs(NodeId id) const {
  const auto inputs = graph_.InputsOf(id);
  for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
    if (!types_[inputs[slot]].fully_known()) return false;
    if (ReadsValues(graph_.node(id), slot) && !is_constant_[graph_.NodeOf(inputs[slot])]) return false;
  }
  return true;
}

bool ConstantValues::HasSmallOutputs(NodeId id) const {
  for (const EntryId entry : graph_.OutputsOf(id)) {
    if (!types_[entry].fully_known() || types_[entry].shape.size() > kMaxConstantElements) return false;
  }
  return true;
}

std::optional<std::vector<double>> ConstantValues::Numbers(EntryId entry) {
  if (!IsConstant(entry)) return std::nullopt;
  for (const NodeId id : MissingFor(graph_.NodeOf(entry))) {
    if (!Compute(id)) return std::nullopt;
  }
  return runner_.numbers(computed_.at(entry));
}

// The nodes to run for this one, itself included, in graph order.
std::vector<NodeId> ConstantValues::MissingFor(NodeId last) const {
  std::vector<NodeId> missing, open{last};
  std::unordered_set<NodeId> met{last};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (computed_.contains(graph_.EntryOf(id, 0))) continue;
    missing.push_back(id);
    const auto inputs = graph_.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      const NodeId producer = graph_.NodeOf(inputs[slot]);
      if (ReadsValues(graph_.node(id), slot) && met.insert(producer).second) open.push_back(producer);
    }
  }
  std::sort(missing.begin(), missing.end());
  return missing;
}

bool ConstantValues::Compute(NodeId id) {
  std::vector<NDArray> inputs, outputs;
  for (std::size_t slot = 0; slot < graph_.InputsOf(id).size(); ++slot) inputs.push_back(InputOf(id, slot));
  for (const EntryId entry : graph_.OutputsOf(id)) outputs.emplace_back(types_[entry].dtype, types_[entry].shape);
  if (!runner_.run(graph_.node(id), inputs, outputs)) return false;
  for (std::size_t i = 0; i < outputs.size(); ++i) computed_[graph_.EntryOf(id, i)] = outputs[i];
  return true;
}

NDArray ConstantValues::InputOf(NodeId id, std::size_t slot) const {
  const EntryId entry = graph_.InputsOf(id)[slot];
  if (ReadsValues(graph_.node(id), slot)) return computed_.at(entry);
  return IsIgnored(graph_.node(id), slot) ? NDArray() : NDArray(types_[entry], nullptr, nullptr);
}

}  // namespace amp
