#include "kernels/elementwise/map.h"

#include <algorithm>
#include <utility>

#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

constexpr std::int64_t kChunk = 1 << 14;  // elements that are worth a thread

MapWalk WalkOf(ElementType type, std::size_t operand, const std::vector<MapAxis>& axes) {
  MapWalk walk;
  walk.type = type;
  for (const MapAxis& axis : axes) {
    if (axis.size == 1) continue;
    const std::int64_t stride = axis.strides[operand];
    const std::size_t last = walk.num_axes == 0 ? 0 : walk.num_axes - 1;
    if (walk.num_axes != 0 && walk.strides[last] == axis.size * stride) {
      walk.sizes[last] *= axis.size;
      walk.strides[last] = stride;
      continue;
    }
    walk.sizes[walk.num_axes] = axis.size;
    walk.strides[walk.num_axes++] = stride;
  }
  if (walk.num_axes == 0) {
    walk.num_axes = 1;
    walk.sizes[0] = 1;
    walk.strides[0] = 0;
  }
  return walk;
}

}  // namespace

Map::Map(std::vector<ElementType> operands, ElementType result, std::vector<MapStep> steps, std::vector<MapAxis> axes)
    : Map(operands, {{static_cast<std::uint8_t>(operands.size() + steps.size() - 1), result}}, steps, axes) {}

Map::Map(std::vector<ElementType> operands, std::vector<MapResult> results, std::vector<MapStep> steps,
         std::vector<MapAxis> axes)
    : results_(std::move(results)), steps_(std::move(steps)) {
  for (const MapAxis& axis : axes) count_ *= axis.size;
  for (std::size_t i = 0; i < operands.size(); ++i) walks_.push_back(WalkOf(operands[i], i, axes));
}

bool Map::IsOperandType(ElementType type) {
  return IsResultType(type) || type == ElementType::kInt8 || type == ElementType::kUInt8 ||
         type == ElementType::kInt32 || type == ElementType::kInt64;
}

bool Map::IsResultType(ElementType type) {
  return type == ElementType::kFloat32 || type == ElementType::kBFloat16 || type == ElementType::kBool;
}

void Map::Run(const void* const* operands, void* const* results) const {
  const auto range = BestTable<MapTable>().range;
  const MapView view{walks_.data(), walks_.size(), steps_.data(), steps_.size(), results_.data(), results_.size()};
  ParallelFor(CeilDiv(count_, kChunk), 1,
              [&](std::int64_t i) { range(view, operands, results, i * kChunk, std::min(count_, (i + 1) * kChunk)); });
}

void ApplyMapSteps(const MapStep* steps, std::size_t num_steps, std::int64_t count, float* numbers) {
  BestTable<MapTable>().apply(steps, num_steps, count, numbers);
}

}  // namespace amp::kernels
