// The gradient of pooling, on memory as it lies.
#include "kernels/vision/pool_gradient.h"

#include <algorithm>
#include <array>

#include "dnnl/channel_rows.h"
#include "dnnl/layout_builder.h"
#include "dnnl/step_kind.h"
#include "nnvm/error.h"

namespace amp::onednn {
namespace {

using PoolPlace = kernels::PoolGradient::Place;

std::array<std::int64_t, 3> InThree(const IntTuple& values, std::int64_t fill) {
  std::array<std::int64_t, 3> three = {fill, fill, fill};
  std::copy(values.begin(), values.end(), three.end() - std::ssize(values));
  return three;
}

IntTuple Spatial(const Shape& shape) { return {shape.dims().begin() + 2, shape.dims().end()}; }

ChannelRows RequireChannelRows(const Desc& layout) {
  const auto rows = ChannelRowsOf(layout);
  if (!rows) throw InternalError("pooling in memory that has no rows");
  return *rows;
}

// Row-major memory is seen as planes, whatever its sizes: a single position could be seen as a row of channels, too.
PoolPlace PlaceOf(const Desc& layout, bool planes) {
  const ChannelRows rows = RequireChannelRows(layout);
  if (!planes) return {rows.batch, rows.block, rows.row};
  const std::int64_t positions = rows.planes ? rows.row_length : rows.num_rows;
  return {layout.get_dims()[1] * positions, positions, 1};
}

std::unique_ptr<const OwnKernel> MakePoolingGradient(const Step& step, const LaidOutProgram& program) {
  const auto& spec = std::get<PoolingGradientSpec>(step.spec);
  const ValueId out = step.outputs[0], gradient = step.inputs[0];
  const ChannelRows rows = RequireChannelRows(program.layouts[out]);
  const bool planes = IsRowMajor(program.layouts[out]);
  kernels::PoolGradient job;
  job.is_max = spec.kind == PoolingKind::kMax;
  job.counts_pads = spec.kind == PoolingKind::kAverageIncludePadding;
  job.is_bf16 = program.TypeOf(gradient).dtype == DType::kBFloat16;
  job.in = InThree(Spatial(program.TypeOf(out).shape), 1);
  job.out = InThree(Spatial(program.TypeOf(gradient).shape), 1);
  job.kernel = InThree(spec.kernel, 1);
  job.stride = InThree(spec.strides, 1);
  job.pad = InThree(spec.pads, 0);
  job.batch = rows.num_batch;
  job.blocks = planes ? program.TypeOf(out).shape[1] : rows.num_blocks;
  job.channels = planes ? 1 : rows.row_length;
  const auto place_of = [&](ValueId v) { return PlaceOf(program.layouts[v], planes); };
  job.g = place_of(gradient);
  job.result = place_of(out);
  if (job.is_max) {
    job.x = place_of(step.inputs[1]);
    job.y = place_of(step.inputs[2]);
  }
  return MakeOwnKernel([job](const KernelOperands& operands) {
    const void* x = job.is_max ? operands.input(1) : nullptr;
    const void* y = job.is_max ? operands.input(2) : nullptr;
    kernels::RunPoolGradient(job, operands.input(0), x, y, static_cast<float*>(operands.output()));
  });
}

// Whether memory can be walked beside memory in that order, which has another number of positions.
bool FitsOrder(const Desc& layout, const Desc& order) {
  if (IsRowMajor(order)) return IsRowMajor(layout);
  const auto x = ChannelRowsOf(layout), y = ChannelRowsOf(order);
  return x && y && x->planes == y->planes && x->num_blocks == y->num_blocks && x->row_length == y->row_length;
}

// All operands lie in the order of the source, or, of averages, in that of the gradient.
void AssignPoolingGradient(LayoutBuilder* builder, Step step) {
  const ValueId out = step.outputs[0], leader = step.inputs[step.inputs.size() > 1 ? 1 : 0];
  Desc order = DenseWithBlocksOf(builder->LayoutOf(leader), builder->TypeOf(out));
  if (!FitsOrder(builder->LayoutOf(leader), order)) order = PlainDesc(builder->TypeOf(out));
  builder->SetLayout(out, order);
  for (ValueId& input : step.inputs) {
    if (FitsOrder(builder->LayoutOf(input), order)) continue;
    const Desc layout = DenseWithBlocksOf(order, builder->TypeOf(input));
    input = builder->InLayout(input, FitsOrder(layout, order) ? layout : PlainDesc(builder->TypeOf(input)), step.node,
                              "own kernel requires tensors in one order");
  }
  builder->Append(std::move(step));
}

[[maybe_unused]] const bool kPoolingGradient = RegisterStepKind<PoolingGradientSpec>(
    {.assign_layouts = AssignPoolingGradient, .make_kernel = MakePoolingGradient});

}  // namespace
}  // namespace amp::onednn
