#include "passes/reduction_depth.h"

#include <algorithm>

#include "passes/op_facts.h"

namespace amp {
namespace {

// What weights have for each output channel.
std::optional<std::int64_t> DepthByWeight(const FoldTarget& fold, const Node& node, std::span<const Shape> in) {
  const Shape& weight = in[1];
  if (!weight.fully_known()) return std::nullopt;
  const std::int64_t channels = weight[fold.weight_axis] * fold.weight_groups(node);
  return channels == 0 ? 0 : weight.size() / channels;
}

}  // namespace

ReductionDepth ElementsPerResult() {
  return {[](const Node&, std::span<const Shape> in, const Shape& out) {
    return out.size() == 0 ? 0 : in[0].size() / out.size();
  }};
}

bool HasReductionDepth(const Node& node) {
  return node.op()->Find<ReductionDepth>() != nullptr || node.op()->Find<FoldTarget>() != nullptr;
}

std::optional<std::int64_t> ReductionDepthOf(const Node& node, std::span<const Shape> in, const Shape& out) {
  const auto* depth = node.op()->Find<ReductionDepth>();
  if (depth == nullptr) return DepthByWeight(*node.op()->Find<FoldTarget>(), node, in);
  const bool is_known =
      out.fully_known() && std::all_of(in.begin(), in.end(), [](const Shape& shape) { return shape.fully_known(); });
  return is_known ? std::optional(depth->of(node, in, out)) : std::nullopt;
}

}  // namespace amp
