#include "ops/common/reduce_rules.h"

#include <algorithm>

#include "ops/common/float32_kernel.h"
#include "program/kernel_types.h"

namespace amp {
namespace {

ValueId EmitChannelSums(LowerContext& c, ValueId value, DType out) {
  Shape kept = c.ShapeOf(value);
  for (int i = 0; i < kept.rank(); ++i) kept[i] = i == 1 ? kept[1] : 1;
  const ValueId sums = c.Emit(ChannelSumsSpec{ChannelSums::kSum}, {value}, {DType::kFloat32, Shape{kept[1]}});
  return c.Cast(c.Reshape(sums, kept), out);
}

}  // namespace

bool IsSumOfChannels(const std::vector<bool>& reduced) {
  return reduced.size() > 2 && !reduced[1] && std::count(reduced.begin(), reduced.end(), false) == 1;
}

ValueId EmitReduce(LowerContext& c, ValueId value, kernels::ReduceOp op, kernels::ReduceEpilogue finish,
                   const std::vector<bool>& named, DType out) {
  const DType in = ComputedDType(c.DTypeOf(value)), result = ComputedDType(out);
  if (!kernels::Reduce::IsType(KernelType(in)) || !kernels::Reduce::IsType(KernelType(result))) return kNoValue;
  Shape shape = c.ShapeOf(value);
  const bool is_plain = op == kernels::ReduceOp::kSum && finish == kernels::ReduceEpilogue::kNone;
  if (is_plain && IsSumOfChannels(named) && shape.size() != 0) return EmitChannelSums(c, c.Cast(value, in), out);
  std::vector<kernels::ReduceAxis> axes;
  for (int i = 0; i < shape.rank(); ++i) {
    axes.push_back({shape[i], named[i]});
    if (named[i]) shape[i] = 1;
  }
  const kernels::Reduce reduce(op, finish, KernelType(in), KernelType(result), axes);
  auto run = [reduce](const KernelOperands& operands) {
    reduce.Run(operands.input(0), operands.output(), operands.scratch());
  };
  const ValueId reduced =
      c.Emit(KernelSpec{"reduce", run, reduce.ScratchBytes()}, {c.Cast(value, in)}, {result, shape});
  return c.Cast(reduced, out);
}

bool LowerToReduce(LowerContext& c, kernels::ReduceOp op, kernels::ReduceEpilogue finish,
                   const std::vector<bool>& named) {
  const ValueId reduced = EmitReduce(c, c.in(0), op, finish, named, c.out_type(0).dtype);
  if (reduced == kNoValue) return false;
  c.SetOut(0, c.Reshape(reduced, c.out_type(0).shape));
  return true;
}

}  // namespace amp
