#include "kernels/elementwise/scale_shift.h"

#include <tuple>

#include "dnnl/channel_rows.h"
#include "dnnl/layout_builder.h"
#include "dnnl/step_kind.h"
#include "nnvm/error.h"

namespace amp::onednn {
namespace {

std::unique_ptr<const OwnKernel> MakeScaleShift(const Step& step, const LaidOutProgram& program) {
  const auto& spec = std::get<ScaleShiftSpec>(step.spec);
  const ValueId in = step.inputs[0], out = step.outputs[0];
  const auto x = ChannelRowsOf(program.layouts[in]), y = ChannelRowsOf(program.layouts[out]);
  if (!x || !y) throw InternalError("a scale and shift on memory that has no rows");
  kernels::ScaleShift job;
  job.x_is_bf16 = program.TypeOf(in).dtype == DType::kBFloat16;
  job.y_is_bf16 = program.TypeOf(out).dtype == DType::kBFloat16;
  job.low = spec.low;
  job.high = spec.high;
  std::tie(job.batch, job.blocks, job.rows) = std::tie(x->num_batch, x->num_blocks, x->num_rows);
  std::tie(job.channels, job.planes) = std::tie(x->row_length, x->planes);
  std::tie(job.x_batch, job.x_block, job.x_row) = std::tie(x->batch, x->block, x->row);
  std::tie(job.y_batch, job.y_block, job.y_row) = std::tie(y->batch, y->block, y->row);
  return MakeOwnKernel([given = job](const KernelOperands& operands) {
    kernels::ScaleShift work = given;
    work.scale = static_cast<const float*>(operands.input(1));
    work.shift = static_cast<const float*>(operands.input(2));
    kernels::RunScaleShift(work, operands.input(0), operands.output());
  });
}

// On the memory as it lies; what is written is dense.
void AssignScaleShift(LayoutBuilder* builder, Step step) {
  const ValueId out = step.outputs[0];
  const TensorType type = builder->TypeOf(out);
  builder->SetLayout(out, DenseCopy(builder->LayoutOf(step.inputs[0]), type));
  if (!HaveSameRows(builder->LayoutOf(step.inputs[0]), builder->LayoutOf(out))) {
    step.inputs[0] = builder->InRowMajor(step.inputs[0], step.node, "own kernel requires channels first or last");
    builder->SetLayout(out, PlainDesc(type));
  }
  for (std::size_t i = 1; i < step.inputs.size(); ++i) {
    step.inputs[i] = builder->InRowMajor(step.inputs[i], step.node, "");
  }
  builder->Append(std::move(step));
}

bool CanWrite(const Step& step, const LaidOutProgram& program, const Desc& layout) {
  return HaveSameRows(program.layouts[step.inputs[0]], layout);
}

[[maybe_unused]] const bool kScaleShift = RegisterStepKind<ScaleShiftSpec>(
    {.assign_layouts = AssignScaleShift, .make_kernel = MakeScaleShift, .can_write = CanWrite});

}  // namespace
}  // namespace amp::onednn
