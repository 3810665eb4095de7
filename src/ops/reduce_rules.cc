#include "ops/reduce_rules.h"

#include "program/kernel_types.h"

namespace amp {
namespace {

// float16 is storage.
DType Computed(DType dtype) { return dtype == DType::kFloat16 ? DType::kFloat32 : dtype; }

}  // namespace

bool LowerToReduce(LowerContext& c, kernels::ReduceOp op, kernels::ReduceFinish finish,
                   const std::vector<bool>& named) {
  const DType in = Computed(c.in_type(0).dtype), out = Computed(c.out_type(0).dtype);
  if (!kernels::Reduce::IsType(KernelType(in)) || !kernels::Reduce::IsType(KernelType(out))) return false;
  const Shape& shape = c.in_type(0).shape;
  std::vector<kernels::ReduceAxis> axes;
  for (int i = 0; i < shape.rank(); ++i) axes.push_back({shape[i], named[i]});
  const kernels::Reduce reduce(op, finish, KernelType(in), KernelType(out), axes);
  auto run = [reduce](const KernelOperands& operands) {
    reduce.Run(operands.input(0), operands.output(), operands.scratch());
  };
  const ValueId result =
      c.Emit(KernelSpec{"reduce", run, reduce.ScratchBytes()}, {c.Cast(c.in(0), in)}, {out, c.out_type(0).shape});
  c.SetOut(0, c.Cast(result, c.out_type(0).dtype));
  return true;
}

}  // namespace amp
