#include "passes/optimize/fold_notes.h"

#include <utility>

namespace amp {

FoldNotes::FoldNotes(const Model& model, const std::function<bool(const Node&)>& keeps)
    : model_(model), keeps_(keeps), parameters_(model) {}

FoldedProduct FoldNotes::ProductOf(NodeId id, const NDArray& weight, const NDArray& bias) const {
  if (const auto found = targets_.find(id); found != targets_.end()) return found->second.product;
  const Node& node = model_.graph().node(id);
  const auto& target = *node.op()->Find<FoldTarget>();
  return NewProduct(weight, bias, target, target.weight_groups(node));
}

std::string FoldNotes::Fold(NodeId norm, NodeId id, FoldedProduct product) {
  const NDArray weight = product.Weight(), bias = product.Bias();
  product.weight.LeavePages();
  if (!AllFinite(weight) || !AllFinite(bias)) return "folding it would give weights that are not finite";
  Target& target = targets_[id];
  if (target.bias.empty()) {
    target.adds_bias = !parameters_.HasBias(id);
    target.bias = target.adds_bias ? NewBiasName(id) : parameters_.NameAt(id, kBias);
  }
  target.product = std::move(product);
  arrays_[parameters_.NameAt(id, kWeight)] = weight;
  arrays_[target.bias] = bias;
  into_[norm] = id;
  return "";
}

std::string FoldNotes::NewBiasName(NodeId id) {
  if (taken_.empty()) {
    for (const NodePtr& node : model_.graph().nodes()) taken_.insert(node->name());
    for (const std::string& name : ParameterNames(model_.arrays())) taken_.insert(name);
  }
  const std::string stem = model_.graph().node(id).name() + "_bias";
  std::string name = stem;
  for (int i = 1; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", stem, i);
  return name;
}

}  // namespace amp
