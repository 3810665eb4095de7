#include <algorithm>
#include <utility>

#include "nnvm/error.h"
#include "program/lower_context.h"
#include "program/permutation.h"

namespace amp {

LowerContext::LowerContext(Program* program, const Node& node, NodeId id, std::string key, std::vector<ValueId> inputs,
                           std::vector<TensorType> in_types, std::vector<TensorType> out_types,
                           std::vector<bool> is_read, const BodyPlanner* plan_body)
    : program_(program),
      node_(node),
      id_(id),
      key_(std::move(key)),
      inputs_(std::move(inputs)),
      in_types_(std::move(in_types)),
      out_types_(std::move(out_types)),
      is_read_(std::move(is_read)),
      outputs_(out_types_.size(), kNoValue),
      plan_body_(plan_body),
      first_step_(FirstStep()) {}

bool LowerContext::is_parameter(int i) const {
  const Value& value = program_->values[inputs_[i]];
  return value.source == ValueSource::kConstant && IsParameterKey(value.name);
}

ValueId LowerContext::Constant(const NDArray& array, const std::string& name) {
  const std::string key = fmt::format("{}:={}:{}", key_, name, array.shape().ToString());
  constants_[key] = array;
  return program_->AddValue(array.type(), key, ValueSource::kConstant);
}

std::size_t LowerContext::FirstStep() const {
  std::size_t first = program_->steps.size();
  while (first > 0 && program_->steps[first - 1].node == id_) --first;
  return first;
}

// The types of the operands are part of the name: emulated and native lowerings of one node must not share constants.
std::string LowerContext::NewName(const StepSpec& spec, DType dtype) const {
  const std::size_t number = program_->steps.size() - first_step_;
  return fmt::format("{}:{}{}:{}", key_, KindOf(spec).name, number, NameOf(dtype));
}

ValueId LowerContext::Emit(StepSpec spec, std::vector<ValueId> inputs, TensorType type) {
  const std::string name = NewName(spec, type.dtype);
  const ValueId out = program_->AddValue(std::move(type), name, ValueSource::kComputed);
  program_->steps.push_back({std::move(spec), std::move(inputs), {out}, id_, ""});
  return out;
}

std::vector<ValueId> LowerContext::EmitSeveral(StepSpec spec, std::vector<ValueId> inputs,
                                               std::vector<TensorType> types) {
  Step step{std::move(spec), std::move(inputs), {}, id_, ""};
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string name = fmt::format("{}:{}", NewName(step.spec, types[i].dtype), i);
    step.outputs.push_back(program_->AddValue(std::move(types[i]), name, ValueSource::kComputed));
  }
  std::vector<ValueId> outputs = step.outputs;
  program_->steps.push_back(std::move(step));
  return outputs;
}

std::shared_ptr<const BodyRunner> LowerContext::PlanBody(const std::string& role, const ControlFlowBody& body,
                                                         std::vector<TensorType> inputs,
                                                         const std::vector<std::optional<int>>& parameters) const {
  BodyRequest request{fmt::format("{}:{}", key_, role), body, std::move(inputs), {}};
  for (const std::optional<int>& i : parameters) {
    request.parameters.push_back(i ? program_->values[inputs_[*i]].name : "");
  }
  return (*plan_body_)(request);
}

ValueId LowerContext::Reshape(ValueId value, Shape shape) {
  if (ShapeOf(value) == shape) return value;
  return Emit(ReshapeSpec{}, {value}, {DTypeOf(value), std::move(shape)});
}

ValueId LowerContext::Permute(ValueId value, std::vector<int> axes) {
  TensorType type{DTypeOf(value), PermutedShape(ShapeOf(value), axes)};
  return Emit(PermuteSpec{std::move(axes)}, {value}, std::move(type));
}

ValueId LowerContext::Bias(int i) {
  if (in_type(i).dtype != DType::kBFloat16) return in(i);
  return is_parameter(i) || IsCastOfConstant(in(i)) ? Cast(in(i), DType::kFloat32) : in(i);
}

bool LowerContext::IsCastOfConstant(ValueId value) const {
  return std::ranges::any_of(program_->steps, [&](const Step& step) {
    return std::holds_alternative<CastSpec>(step.spec) && step.outputs[0] == value &&
           program_->values[step.inputs[0]].source == ValueSource::kConstant;
  });
}

ValueId LowerContext::Cast(ValueId value, DType dtype) {
  if (DTypeOf(value) == dtype) return value;
  return Emit(CastSpec{}, {value}, {dtype, ShapeOf(value)});
}

ValueId LowerContext::CastOfConversion(ValueId value, DType dtype) {
  if (dtype != DType::kFloat16 || DTypeOf(value) == dtype) return Cast(value, dtype);
  return Emit(CastSpec{.stays_finite = true}, {value}, {dtype, ShapeOf(value)});
}

ValueId LowerContext::CastOfProgram(ValueId value, DType dtype) {
  const bool rounds = IsLowPrecision(dtype) || IsLowPrecision(DTypeOf(value));
  if (!rounds) return Cast(value, dtype);
  const CastSpec spec{.is_of_program = true};
  const ValueId out = Emit(spec, {value}, {dtype, ShapeOf(value)});
  program_->MarkCast(spec, value, out);
  return out;
}

}  // namespace amp
