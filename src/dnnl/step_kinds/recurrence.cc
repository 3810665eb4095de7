#include "dnnl/assign_primitive.h"
#include "dnnl/step_kind.h"
#include "kernels/rnn/recurrent_layers.h"

namespace amp::onednn {
namespace {

void RunRecurrence(const kernels::RecurrentLayers& job, bool has_lengths, const KernelOperands& operands) {
  const bool is_lstm = job.cell == RecurrentCell::kLstm;
  const auto floats = [&](std::size_t i) { return static_cast<const float*>(operands.input(i)); };
  const auto written = [&](std::size_t i) {
    return i < operands.num_outputs() ? static_cast<float*>(operands.output(i)) : nullptr;
  };
  kernels::RecurrentData data;
  data.x = floats(0);
  data.packed = floats(1);
  data.hidden = floats(2);
  if (is_lstm) data.cells = floats(3);
  if (has_lengths) data.lengths = static_cast<const std::int64_t*>(operands.input(is_lstm ? 4 : 3));
  data.y = written(0);
  data.last_hidden = written(1);
  data.last_cells = written(2);
  kernels::RunRecurrentLayers(job, data, operands.scratch());
}

std::unique_ptr<const OwnKernel> MakeRecurrence(const Step& step, const LaidOutProgram& program) {
  const auto& spec = std::get<RecurrenceSpec>(step.spec);
  const Shape& data = program.TypeOf(step.inputs[0]).shape;
  const Shape& states = program.TypeOf(step.inputs[2]).shape;
  kernels::RecurrentLayers job;
  job.cell = spec.cell;
  job.time = data[0];
  job.batch = data[1];
  job.inputs = data[2];
  job.state = states[2];
  job.directions = spec.bidirectional ? 2 : 1;
  job.layers = states[0] / job.directions;
  job.low = spec.low;
  job.high = spec.high;
  job.nan_becomes_low = spec.nan_becomes_low;
  return MakeOwnKernel([job, has_lengths = spec.has_lengths](
                           const KernelOperands& operands) { RunRecurrence(job, has_lengths, operands); },
                       kernels::RecurrentScratchBytes(job));
}

[[maybe_unused]] const bool kRecurrence =
    RegisterStepKind<RecurrenceSpec>({.assign_layouts = AssignRowMajor, .make_kernel = MakeRecurrence});

}  // namespace
}  // namespace amp::onednn
