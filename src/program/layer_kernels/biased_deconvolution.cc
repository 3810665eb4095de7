#include "program/layer_kernels/biased_deconvolution.h"

#include <utility>

#include "program/map_steps.h"
#include "program/step_graph.h"

namespace amp {
namespace {

using kernels::MapOp;
using kernels::MapStep;

// Reads the steps of a map one after the other, each of which works on the result of the one before.
class FinishReader {
 public:
  FinishReader(const Step& deconvolution, const Step& map, const Program& program)
      : deconvolution_(deconvolution), map_(map), program_(program), finished_(map) {
    finished_.spec = deconvolution.spec;
    finished_.inputs = deconvolution.inputs;
  }

  std::optional<Step> Read() {
    for (const MapStep& step : std::get<MapSpec>(map_.spec).steps) {
      const bool is_known = step.op == MapOp::kAdd ? Adds(step) : Applies(step);
      if (!is_known) return std::nullopt;
      last_ = next_++;
    }
    AddFused(deconvolution_, &finished_);
    return std::move(finished_);
  }

 private:
  const TensorType& TypeOf(ValueId value) const { return program_.values[value].type; }

  bool IsOfChannels(const TensorType& type, const Shape& sums) const {
    return type.dtype == DType::kFloat32 && type.shape.rank() == sums.rank() && type.shape.size() == sums[1] &&
           type.shape[1] == sums[1];
  }

  // A bias before all else, or a tensor of the sums' shape.
  bool Adds(const MapStep& step) {
    if (step.x != last_ && step.y != last_) return false;
    const std::size_t operand = step.x == last_ ? step.y : step.x;
    if (operand >= map_.inputs.size() || map_.inputs[operand] == map_.inputs[0]) return false;
    const ValueId value = map_.inputs[operand];
    const Shape& sums = TypeOf(map_.inputs[0]).shape;
    if (TypeOf(value).shape != sums && !(finished_.inputs.size() == 2 && IsOfChannels(TypeOf(value), sums)))
      return false;
    if (TypeOf(value).shape == sums)
      finished_.post_ops.push_back({BinarySpec{BinaryKind::kAdd}, finished_.inputs.size()});
    finished_.inputs.push_back(value);
    return true;
  }

  bool Applies(const MapStep& step) {
    if (step.x != last_) return false;
    constexpr float kIsItself = 1;  // the slope of relu in a cast
    if (step.op == MapOp::kRelu) {
      if (step.alpha != kIsItself) finished_.post_ops.push_back({EltwiseSpec{EltwiseKind::kRelu, step.alpha, 0}});
    } else if (step.op == MapOp::kClip) {
      finished_.post_ops.push_back({EltwiseSpec{EltwiseKind::kClip, step.alpha, step.beta}});
    }
    return step.op == MapOp::kRelu || step.op == MapOp::kClip;
  }

  const Step &deconvolution_, &map_;
  const Program& program_;
  Step finished_;
  std::size_t last_ = 0, next_ = map_.inputs.size();  // registers: of what was computed last, and of the next result
};

}  // namespace

std::optional<Step> BiasedDeconvolution(const Step& deconvolution, const Step& reader, const Program& program) {
  const bool is_bare = deconvolution.inputs.size() == 2 && deconvolution.post_ops.empty();
  if (!is_bare || program.values[deconvolution.outputs[0]].type.dtype != DType::kFloat32) return std::nullopt;
  const std::optional<Step> map = AsMap(reader, program, NumericMode::kFast);
  if (!map || map->inputs[0] != deconvolution.outputs[0]) return std::nullopt;
  if (program.values[map->outputs[0]].type.shape != program.values[map->inputs[0]].type.shape) return std::nullopt;
  return FinishReader(deconvolution, *map, program).Read();
}

}  // namespace amp
