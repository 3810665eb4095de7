#include "ops/common/moves.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/movement/strided_copy.h"
#include "ops/common/broadcast.h"
#include "program/reference.h"

namespace amp {
namespace {

// A move with sizes in bytes.
struct PreparedMove {
  kernels::StridedCopy copy;
  std::int64_t first_from, first_to;
  std::size_t input;
};

PreparedMove Prepared(const Move& move, std::size_t element_bytes) {
  kernels::StridedCopy copy(element_bytes);
  for (const Move::Axis& axis : move.axes) copy.AddAxis(axis.size, axis.from, axis.to);
  copy.Prepare();
  const auto bytes = static_cast<std::int64_t>(element_bytes);
  return {copy, move.first_from * bytes, move.first_to * bytes, move.input};
}

void RunMoves(const std::vector<PreparedMove>& moves, const KernelOperands& operands) {
  for (const PreparedMove& move : moves) {
    move.copy.Run(static_cast<const char*>(operands.input(move.input)) + move.first_from,
                  static_cast<char*>(operands.output()) + move.first_to);
  }
}

// A copy or repetition of so many elements.
kernels::StridedCopy Line(const TensorType& type, std::int64_t from_stride) {
  kernels::StridedCopy copy(static_cast<std::size_t>(BytesOf(type.dtype)));
  copy.AddAxis(type.shape.size(), from_stride, 1);
  copy.Prepare();
  return copy;
}

// A step that reads nothing: a constant of the plan.
bool EmitWithoutReading(LowerContext& c, const char* name, std::function<void(const KernelOperands&)> run) {
  c.SetOut(0, c.Emit(KernelSpec{name, std::move(run)}, {}, c.out_type(0)));
  return true;
}

}  // namespace

std::vector<std::int64_t> RowMajorStrides(const Shape& shape) {
  std::vector<std::int64_t> strides;
  for (int i = 0; i < shape.rank(); ++i) strides.push_back(shape.SizeOf(i + 1, shape.rank()));
  return strides;
}

Move MoveTo(const Shape& out, const std::vector<std::int64_t>& from, std::int64_t first_from) {
  Move move;
  move.first_from = first_from;
  const std::vector<std::int64_t> to = RowMajorStrides(out);
  for (std::size_t i = 0; i < to.size(); ++i) move.axes.push_back({out[static_cast<int>(i)], from[i], to[i]});
  return move;
}

Move BroadcastMove(const Shape& in, const Shape& out) {
  const Shape aligned = AlignedRight(in, out.rank());
  std::vector<std::int64_t> from = RowMajorStrides(aligned);
  for (int i = 0; i < out.rank(); ++i) {
    if (aligned[i] == 1) from[static_cast<std::size_t>(i)] = 0;
  }
  return MoveTo(out, from);
}

ValueId EmitMoves(LowerContext& c, std::vector<ValueId> inputs, const std::vector<Move>& moves, TensorType type,
                  bool covers) {
  const auto element_bytes = static_cast<std::size_t>(BytesOf(type.dtype));
  const std::size_t bytes = static_cast<std::size_t>(type.shape.size()) * element_bytes;
  std::vector<PreparedMove> prepared;
  for (const Move& move : moves) prepared.push_back(Prepared(move, element_bytes));
  KernelSpec work{"move", [prepared, covers, bytes](const KernelOperands& operands) {
                    if (!covers) std::memset(operands.output(), 0, bytes);
                    RunMoves(prepared, operands);
                  }};
  std::size_t input_bytes = 0;
  for (const ValueId v : inputs) input_bytes += static_cast<std::size_t>(c.ShapeOf(v).size()) * element_bytes;
  work.bytes_read = std::min(bytes, input_bytes);
  return c.Emit(std::move(work), std::move(inputs), std::move(type));
}

bool LowerToMove(LowerContext& c, const Move& move) {
  c.SetOut(0, EmitMoves(c, {c.in(0)}, {move}, c.out_type(0)));
  return true;
}

KernelRule BroadcastByKernel() {
  return {[](LowerContext& c) { return LowerToMove(c, BroadcastMove(c.in_type(0).shape, c.out_type(0).shape)); }};
}

bool LowerToConcat(LowerContext& c, int axis, const std::vector<Shape>& parts) {
  const Shape& out = c.out_type(0).shape;
  const std::int64_t outer = out.SizeOf(0, axis), out_row = out.SizeOf(axis, out.rank());
  std::vector<ValueId> inputs;
  std::vector<Move> moves;
  std::int64_t first = 0;
  for (const Shape& part : parts) {
    const std::int64_t row = part.SizeOf(axis, part.rank());
    moves.push_back({{{outer, row, out_row}, {row, 1, 1}}, 0, first, inputs.size()});
    inputs.push_back(c.in(static_cast<int>(inputs.size())));
    first += row;
  }
  c.SetOut(0, EmitMoves(c, std::move(inputs), moves, c.out_type(0)));
  return true;
}

bool JoinsShortLines(const LowerContext& c, int axis) {
  constexpr std::int64_t kShortBytes = 512;
  const TensorType& out = c.out_type(0);
  return out.shape.SizeOf(axis, out.shape.rank()) * BytesOf(out.dtype) <= kShortBytes;
}

bool LowerToFill(LowerContext& c, std::uint64_t bytes) {
  return EmitWithoutReading(c, "fill", [line = Line(c.out_type(0), 0), bytes](const KernelOperands& operands) {
    line.Run(&bytes, operands.output());
  });
}

bool LowerToValues(LowerContext& c, const NDArray& values) {
  return EmitWithoutReading(c, "values", [line = Line(c.out_type(0), 1), values](const KernelOperands& operands) {
    line.Run(values.data(), operands.output());
  });
}

KernelRule ValuesOfReference() {
  return {[](LowerContext& c) {
    std::vector<NDArray> inputs, outputs{NDArray(c.out_type(0).dtype, c.out_type(0).shape)};
    for (const TensorType& type : c.in_types()) inputs.emplace_back(type, nullptr, nullptr);
    c.node().op()->Find<ReferenceKernel>()->run(c.node(), inputs, outputs);
    return LowerToValues(c, outputs[0]);
  }};
}

}  // namespace amp
