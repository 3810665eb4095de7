#include "dnnl/profile.h"

#include <algorithm>

#include "dnnl/compiled_plan.h"
#include "nnvm/error.h"

namespace amp::onednn {
namespace {

double Elements(const CompiledPlan& plan, ValueId v) { return static_cast<double>(plan.types[v].shape.size()); }

double AxisSize(const CompiledPlan& plan, ValueId v, int axis_from_end) {
  const Shape& shape = plan.types[v].shape;
  return static_cast<double>(shape[shape.rank() - axis_from_end]);
}

double ChannelsOf(const CompiledPlan& plan, ValueId v) { return static_cast<double>(plan.types[v].shape[1]); }

// Each element of `tensor` meets the weights of its channel.
double WindowFlops(const CompiledPlan& plan, ValueId tensor, ValueId weights) {
  const double elements = Elements(plan, tensor);
  return elements == 0 ? 0 : 2 * elements * Elements(plan, weights) / ChannelsOf(plan, tensor);
}

double FlopsOf(const CompiledStep& step, const CompiledPlan& plan) {
  if (std::holds_alternative<ConvolutionWork>(step.work)) return WindowFlops(plan, step.outputs[0], step.inputs[1]);
  if (std::holds_alternative<DeconvolutionWork>(step.work)) return WindowFlops(plan, step.inputs[0], step.inputs[1]);
  if (std::holds_alternative<InnerProductWork>(step.work) || std::holds_alternative<MatMulWork>(step.work)) {
    return 2 * Elements(plan, step.outputs[0]) * AxisSize(plan, step.inputs[0], 1);
  }
  if (std::holds_alternative<AttentionWork>(step.work)) {
    const kernels::Attention& a = step.attention;
    return 2.0 * static_cast<double>(a.num_batch * a.num_heads * a.num_queries) *
           static_cast<double>(a.num_keys * (a.size + a.value_size));
  }
  return 0;
}

std::size_t BytesOfValue(const CompiledPlan& plan, ValueId v) {
  return static_cast<std::size_t>(plan.types[v].shape.size()) * BytesOf(plan.types[v].dtype);
}

StepCost CostOf(const CompiledStep& step, const CompiledPlan& plan) {
  StepCost cost{FlopsOf(step, plan), 0, DType::kUnknown};
  for (const ValueId v : step.inputs) cost.bytes += BytesOfValue(plan, v);
  for (const ValueId v : step.outputs) cost.bytes += BytesOfValue(plan, v);
  if (!step.inputs.empty()) cost.dtype = plan.types[step.inputs[0]].dtype;
  return cost;
}

double PerSecond(double amount, double seconds) { return seconds > 0 ? amount / seconds / 1e9 : 0; }

}  // namespace

std::vector<StepCost> StepCosts(const Plan& plan) {
  std::vector<StepCost> costs;
  for (const CompiledStep& step : plan.compiled->steps) costs.push_back(CostOf(step, *plan.compiled));
  return costs;
}

void ProfileRecorder::Sum::Add(double seconds, bool is_first) {
  min = is_first ? seconds : std::min(min, seconds);
  total += seconds;
}

StepTimes ProfileRecorder::Sum::Over(int runs) const { return {min, runs == 0 ? 0 : total / runs}; }

ProfileRecorder::ProfileRecorder(std::shared_ptr<const Plan> plan)
    : plan_(std::move(plan)), steps_(plan_->summary.steps.size()) {}

void ProfileRecorder::Add(const std::vector<double>& step_seconds, double run_seconds) {
  for (std::size_t i = 0; i < steps_.size(); ++i) steps_[i].Add(step_seconds[i], num_runs_ == 0);
  run_.Add(run_seconds, num_runs_ == 0);
  ++num_runs_;
}

RunProfile ProfileRecorder::Result() const {
  RunProfile profile{plan_->summary.steps, StepCosts(*plan_), {},
                     run_.Over(num_runs_), num_runs_,         plan_->summary.num_threads};
  for (const Sum& step : steps_) profile.times.push_back(step.Over(num_runs_));
  return profile;
}

double RunProfile::OutsideShare() const {
  double inside = 0;
  for (const StepTimes& step : times) inside += step.mean_seconds;
  return run.mean_seconds > 0 ? 1 - inside / run.mean_seconds : 0;
}

std::string RunProfile::Print() const {
  std::string text = fmt::format(
      "profile: {} runs of {} steps, {} threads, {:.3f} ms per run (best {:.3f}), {:.1f} % of it outside of the steps\n"
      "     us mean      best  share   GFLOP/s    GB/s  work           implementation           layout    node\n",
      num_runs, steps.size(), num_threads, 1e3 * run.mean_seconds, 1e3 * run.min_seconds, 100 * OutsideShare());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double mean = times[i].mean_seconds;
    text += fmt::format("{:12.1f} {:9.1f} {:5.1f}% {:9.1f} {:7.1f}  {:14} {:24} {:9} {}\n", 1e6 * mean,
                        1e6 * times[i].min_seconds, run.mean_seconds > 0 ? 100 * mean / run.mean_seconds : 0,
                        PerSecond(costs[i].flops, mean), PerSecond(static_cast<double>(costs[i].bytes), mean),
                        steps[i].work, steps[i].implementation, steps[i].layout, steps[i].node);
  }
  return text;
}

}  // namespace amp::onednn
