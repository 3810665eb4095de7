#include "program/step.h"

#include <utility>

namespace amp {

ValueId Program::AddValue(TensorType type, std::string name, ValueSource source) {
  values.push_back({std::move(type), std::move(name), source});
  return static_cast<ValueId>(values.size() - 1);
}

StepTypes Program::TypesOf(const Step& step) const {
  StepTypes types;
  for (const ValueId v : step.inputs) types.inputs.push_back(values[v].type);
  for (const ValueId v : step.outputs) types.outputs.push_back(values[v].type);
  return types;
}

void Program::MarkCast(const CastSpec& spec, ValueId from, ValueId to) {
  if (!spec.is_of_program) return;
  for (const ValueId v : {from, to}) values[v].is_exact = values[v].is_exact || IsLowPrecision(values[v].type.dtype);
}

const char* NameOf(const StepSpec& spec) {
  const auto* kernel = std::get_if<KernelSpec>(&spec);
  if (const auto* fused = std::get_if<FusedLayerSpec>(&spec)) return fused->name;
  return kernel == nullptr ? KindOf(spec).name : kernel->name.c_str();
}

}  // namespace amp
