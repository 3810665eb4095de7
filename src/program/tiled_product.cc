#include "program/tiled_product.h"

#include <algorithm>
#include <utility>

#include "kernels/elementwise/cast.h"
#include "kernels/threads/parallel.h"
#include "passes/tiling_accumulation.h"

namespace amp {
namespace {

// Elements that a thread takes at a time, and rounds in a buffer of its own.
constexpr std::int64_t kBlock = 512;

// Inputs: tile, [previous sums]. The new sums are the tile or previous + tile, rounded.
void RoundSums(std::span<const NDArray> inputs, std::span<NDArray> outputs) {
  NDArray& sums = outputs[0];
  const auto count = static_cast<std::size_t>(sums.size());
  if (inputs.size() == 1) {
    using kernels::ElementType;
    kernels::Cast(ElementType::kFloat32, inputs[0].data(), ElementType::kBFloat16, sums.data(), count);
    return;
  }
  if (sums.data() != inputs[1].data()) std::copy_n(inputs[1].As<std::uint16_t>(), count, sums.As<std::uint16_t>());
  AddRounded(inputs[0], sums);
}

class TiledProduct {
 public:
  // `axes` are those that are summed over.
  TiledProduct(LowerContext& c, const Tiling& tiling, StepSpec spec, std::vector<ValueId> inputs, TensorType type,
               std::pair<int, int> axes)
      : c_(c),
        tiling_(tiling),
        spec_(std::move(spec)),
        inputs_(std::move(inputs)),
        type_(std::move(type)),
        axes_(axes) {}

  ValueId Emit() {
    const std::int64_t size = c_.ShapeOf(inputs_[0])[axes_.first];
    const std::int64_t tiles = CountTiles(c_.node(), tiling_, size);
    ValueId sum = First(Tile(0, size));
    for (std::int64_t i = 1; i < tiles; ++i) sum = Sum(sum, Tile(i * tiling_.tile_k, size));
    if (inputs_.size() > 2) sum = Sum(sum, c_.Cast(inputs_[2], DType::kFloat32));
    return c_.Cast(sum, type_.dtype);
  }

 private:
  bool rounds() const { return tiling_.accumulator == DType::kBFloat16; }
  TensorType Sums(DType dtype) const { return {dtype, type_.shape}; }

  ValueId Tile(std::int64_t begin, std::int64_t size) {
    const std::int64_t length = std::min(tiling_.tile_k, size - begin);
    const ValueId a = Part(inputs_[0], axes_.first, begin, length);
    const ValueId b = Part(inputs_[1], axes_.second, begin, length);
    return c_.Emit(spec_, {a, b}, Sums(DType::kFloat32));
  }

  ValueId Part(ValueId operand, int axis, std::int64_t begin, std::int64_t length) {
    Shape shape = c_.ShapeOf(operand);
    if (shape[axis] == length) return operand;
    SliceSpec slice{IntTuple(static_cast<std::size_t>(shape.rank()))};
    slice.begins[static_cast<std::size_t>(axis)] = begin;
    shape[axis] = length;
    return c_.Emit(std::move(slice), {operand}, {c_.DTypeOf(operand), std::move(shape)});
  }

  ValueId First(ValueId tile) { return rounds() ? c_.Emit(CallSpec{RoundSums}, {tile}, Sums(DType::kBFloat16)) : tile; }

  ValueId Sum(ValueId sum, ValueId term) {
    if (!rounds()) return c_.Emit(BinarySpec{BinaryKind::kAdd}, {sum, Broadcast(term)}, Sums(DType::kFloat32));
    return c_.Emit(CallSpec{RoundSums}, {term, sum}, Sums(DType::kBFloat16));
  }

  // A bias has the axis of columns alone.
  ValueId Broadcast(ValueId term) {
    const Shape& shape = c_.ShapeOf(term);
    return shape.rank() == 1 ? c_.Reshape(term, Shape{1, shape[0]}) : term;
  }

  LowerContext& c_;
  const Tiling tiling_;
  const StepSpec spec_;
  const std::vector<ValueId> inputs_;
  const TensorType type_;
  const std::pair<int, int> axes_;
};

}  // namespace

ValueId EmitMatMul(LowerContext& c, std::vector<ValueId> inputs, TensorType type) {
  const std::optional<Tiling> tiling = TilingOf(c.node());
  if (!tiling) return c.Emit(MatMulSpec{}, std::move(inputs), std::move(type));
  const int rank = type.shape.rank();
  return TiledProduct(c, *tiling, MatMulSpec{}, std::move(inputs), std::move(type), {rank - 1, rank - 2}).Emit();
}

ValueId EmitInnerProduct(LowerContext& c, std::vector<ValueId> inputs, TensorType type) {
  const std::optional<Tiling> tiling = TilingOf(c.node());
  if (!tiling) return c.Emit(InnerProductSpec{}, std::move(inputs), std::move(type));
  return TiledProduct(c, *tiling, InnerProductSpec{}, std::move(inputs), std::move(type), {1, 1}).Emit();
}

void AddRounded(const NDArray& tile, NDArray& sums) {
  using kernels::ElementType;
  // A tile of one row is added to each row.
  const std::int64_t period = tile.size(), size = sums.size();
  const std::int64_t width = std::min(period, kBlock);
  const std::int64_t blocks = (period + width - 1) / width;
  kernels::ParallelFor(size / period * blocks, 16, [&](std::int64_t block) {
    const std::int64_t row = block / blocks, begin = block % blocks * width;
    const auto count = static_cast<std::size_t>(std::min(width, period - begin));
    const float* terms = tile.As<float>() + begin;
    std::uint16_t* rounded = sums.As<std::uint16_t>() + row * period + begin;
    float wide[kBlock];
    kernels::Cast(ElementType::kBFloat16, rounded, ElementType::kFloat32, wide, count);
    for (std::size_t i = 0; i < count; ++i) wide[i] += terms[i];
    kernels::Cast(ElementType::kFloat32, wide, ElementType::kBFloat16, rounded, count);
  });
}

}  // namespace amp
