#include "passes/optimize/fold_parameters.h"

#include <cmath>
#include <utility>

namespace amp {
namespace {

std::string AffineOf(const BatchNormFact::Use& use, const NDArray (&arrays)[4], ChannelAffine* affine) {
  const auto& [gamma, beta, mean, variance] = arrays;
  for (std::int64_t c = 0; c < mean.size(); ++c) {
    const double sum = static_cast<double>(variance.As<float>()[c]) + use.eps;
    if (!(sum > 0)) return fmt::format("its variance plus eps is {} in channel {}", sum, c);
    const double scale = use.fix_gamma ? 1.0 : static_cast<double>(gamma.As<float>()[c]);
    affine->scale.push_back(scale / std::sqrt(sum));
    affine->mean.push_back(mean.As<float>()[c]);
    affine->beta.push_back(beta.As<float>()[c]);
  }
  return "";
}

}  // namespace

std::string FirstObstacle(std::initializer_list<std::function<std::string()>> checks) {
  for (const auto& check : checks) {
    if (std::string obstacle = check(); !obstacle.empty()) return obstacle;
  }
  return "";
}

FoldParameters::FoldParameters(const Model& model) : model_(model) {
  std::set<std::string> names;
  for (const NodeId id : model.graph().variables()) {
    const std::string& name = model.graph().node(id).name();
    if (!names.insert(name).second) shared_names_.insert(name);
  }
}

std::string FoldParameters::Read(NodeId id, FoldSlot slot, const std::optional<Shape>& shape, NDArray* array) const {
  const EntryId entry = Input(id, slot);
  const TensorType& type = model_.types()[entry];
  const Node& variable = model_.graph().node(model_.graph().NodeOf(entry));
  if (!variable.is_variable()) return fmt::format("{} comes from {}", Label(id, slot), variable.Describe());
  const NDArray* found = FindArray(model_.arrays(), variable.name());
  if (found == nullptr || !found->defined()) return Label(id, slot) + " is no parameter with a value";
  const DType dtype = found->dtype() == DType::kFloat32 ? type.dtype : found->dtype();
  if (dtype != DType::kFloat32) return fmt::format("{} is {}, not float32", Label(id, slot), NameOf(dtype));
  for (Shape expected : {type.shape, shape.value_or(Shape())}) {
    bool changed = false;
    if (MergeShape(&expected, found->shape(), &changed)) continue;
    return fmt::format("{} has the shape {} instead of {}", Label(id, slot), found->shape().ToString(),
                       expected.ToString());
  }
  *array = *found;
  return "";
}

std::string FoldParameters::OwnObstacle(NodeId id, FoldSlot slot) const {
  const EntryId entry = Input(id, slot);
  if (model_.graph().IsOutput(entry)) return Label(id, slot) + " is an output of the graph, too";
  const bool shared = model_.graph().ConsumersOf(entry).size() > 1 || shared_names_.contains(NameAt(id, slot));
  return shared ? Label(id, slot) + " is shared" : "";
}

// A state that only a norm updates would become an argument.
std::string FoldParameters::StateObstacle(NodeId norm, FoldSlot slot) const {
  const bool is_output = model_.graph().node(norm).IsMutable(slot) && model_.graph().IsOutput(Input(norm, slot));
  return is_output ? Label(norm, slot) + " is an output of the graph, too" : "";
}

std::string FoldParameters::ReadNorm(NodeId norm, const BatchNormFact::Use& use, std::int64_t channels,
                                     ChannelAffine* affine) const {
  NDArray arrays[4];
  for (const FoldSlot slot : {kGamma, kBeta, kMean, kVariance}) {
    std::string obstacle = Read(norm, slot, Shape{channels}, &arrays[slot - kGamma]);
    if (obstacle.empty()) obstacle = StateObstacle(norm, slot);
    if (!obstacle.empty()) return obstacle;
  }
  return AffineOf(use, arrays, affine);
}

const std::string& FoldParameters::NameAt(NodeId id, FoldSlot slot) const {
  return model_.graph().node(model_.graph().NodeOf(Input(id, slot))).name();
}

std::string FoldParameters::Label(NodeId id, FoldSlot slot) const {
  const Node& node = model_.graph().node(id);
  return fmt::format("the {} of {}", node.input_names()[slot], Quotable(node.name()));
}

}  // namespace amp
