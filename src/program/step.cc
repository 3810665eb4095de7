#include "program/step.h"

#include <utility>

namespace amp {

ValueId Program::AddValue(TensorType type, std::string name, ValueSource source) {
  values.push_back({std::move(type), std::move(name), source});
  return static_cast<ValueId>(values.size() - 1);
}

const char* NameOf(const StepSpec& spec) {
  const auto* kernel = std::get_if<KernelSpec>(&spec);
  return kernel == nullptr ? KindOf(spec).name : kernel->name.c_str();
}

}  // namespace amp
