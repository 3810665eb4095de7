#include "passes/optimize/fold_into_reader.h"

namespace amp {
namespace {

// Which channel belongs to each of the weight's `positions`. False where that would depend on more than the rank.
bool MatchChannels(const FoldReader::Use& read, bool flattened, int axis, const Shape& data, std::int64_t positions,
                   std::int64_t* inner) {
  const std::int64_t channels = data[axis];
  if (!flattened && !read.flattens) return axis == read.channel_axis && positions == channels;
  if (axis != data.rank() - 1) *inner = positions / channels;
  return axis >= 1 && (axis == 1 || axis == data.rank() - 1) && positions % channels == 0 && *inner > 0;
}

bool Flattens(const Node& node) {
  const auto* view = node.op()->Find<IsView>();
  return view != nullptr && view->flattens;
}

}  // namespace

bool ReaderFolder::Fold(NodeId norm) {
  std::optional<Site> site = FindSite(norm);
  NDArray weight, bias;
  ChannelAffine affine;
  if (!site || !ReadArrays(&*site, &weight, &bias, &affine)) return false;
  FoldedProduct product = notes_.ProductOf(site->reader, weight, bias);
  product.input_axis = site->read.weight_axis;
  product.input_groups = site->read.groups;
  product.FoldInFront(affine, site->inner);
  if (!notes_.Fold(norm, site->reader, std::move(product)).empty()) return false;
  flattened_[norm] = site->flattened;
  return true;
}

// Follows the norm's result through copies and norms that are folded, to a node that reads it with weights.
std::optional<ReaderFolder::Site> ReaderFolder::FindSite(NodeId norm) const {
  const Graph& graph = model_.graph();
  const auto is_free = [&](NodeId id) { return !graph.HasControlDeps(id) && !notes_.Keeps(graph.node(id)); };
  const BatchNormFact::Use use = graph.node(norm).op()->Find<BatchNormFact>()->use(graph.node(norm));
  if (!is_free(norm) || !use.is_plain || !graph.OnlyFirstOutputUsed(norm)) return std::nullopt;
  const int rank = model_.types()[graph.InputsOf(norm)[kData]].shape.rank();
  bool flattened = false;
  for (NodeId id = norm; true;) {
    const Consumer* reader = graph.OnlyReader(graph.EntryOf(id, 0));
    if (reader == nullptr || reader->slot != kData) return std::nullopt;
    id = reader->node;
    const Node& node = graph.node(id);
    if (!is_free(id) || node.phase() != Phase::kForward) return std::nullopt;
    if (const auto earlier = notes_.into().find(id); earlier != notes_.into().end()) {
      flattened = flattened || flattened_.at(id);
      id = earlier->second;
    } else if (Flattens(node)) {
      flattened = true;
      continue;
    } else if (IsIdentity(node) && graph.OnlyFirstOutputUsed(id)) {
      continue;
    }
    const auto* fact = graph.node(id).op()->Find<FoldReader>();
    const auto read = fact == nullptr ? std::nullopt : fact->use(graph.node(id), flattened ? 2 : rank);
    return read ? std::optional(Site{norm, id, use, *read, flattened}) : std::nullopt;
  }
}

bool ReaderFolder::ReadArrays(Site* site, NDArray* weight, NDArray* bias, ChannelAffine* affine) const {
  const FoldParameters& parameters = notes_.parameters();
  const NodeId reader = site->reader;
  const bool has_bias = parameters.HasBias(reader);
  if (!parameters.OwnObstacle(reader, kWeight).empty()) return false;
  if (has_bias && !parameters.OwnObstacle(reader, kBias).empty()) return false;
  if (!parameters.Read(reader, kWeight, std::nullopt, weight).empty()) return false;
  const Shape& shape = weight->shape();
  if (shape.rank() <= site->read.weight_axis || shape[0] == 0 || shape[0] % site->read.groups != 0) return false;
  if (has_bias && !parameters.Read(reader, kBias, Shape{shape[0]}, bias).empty()) return false;
  const Shape& data = model_.types()[parameters.Input(site->norm, kData)].shape;
  const auto axis = NormalizeAxis(site->use.axis, data.rank());
  if (!data.rank_known() || !axis || data[*axis] <= 0) return false;
  if (!parameters.ReadNorm(site->norm, site->use, data[*axis], affine).empty()) return false;
  const std::int64_t positions = shape[site->read.weight_axis] * site->read.groups;
  return MatchChannels(site->read, site->flattened, *axis, data, positions, &site->inner);
}

}  // namespace amp
