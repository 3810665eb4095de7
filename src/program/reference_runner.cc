#include "program/reference_runner.h"

#include "kernels/elementwise/cast.h"
#include "program/kernel_types.h"
#include "program/reference.h"

namespace amp {
namespace {

bool Run(const Node& node, std::span<const NDArray> inputs, std::span<NDArray> outputs) {
  const auto* kernel = node.op()->Find<ReferenceKernel>();
  if (kernel == nullptr) return false;
  kernel->run(node, inputs, outputs);
  return true;
}

std::vector<double> Numbers(const NDArray& array) {
  std::vector<double> numbers(static_cast<std::size_t>(array.size()));
  kernels::Cast(KernelType(array.dtype()), array.data(), KernelType(DType::kFloat64), numbers.data(), numbers.size());
  return numbers;
}

}  // namespace

NodeRunner ReferenceRunner() { return {Run, Numbers}; }

}  // namespace amp
