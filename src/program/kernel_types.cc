#include "program/kernel_types.h"

#include <array>

#include "nnvm/error.h"

namespace amp {

kernels::ElementType KernelType(DType dtype) {
  using enum kernels::ElementType;
  // In the order of DType, behind kUnknown.
  static constexpr std::array kTypes = {kFloat32, kFloat64, kFloat16, kUInt8,  kInt32,  kInt8,    kInt64,
                                        kBool,    kInt16,   kUInt16,  kUInt32, kUInt64, kBFloat16};
  static_assert(kTypes.size() == static_cast<std::size_t>(DType::kBFloat16));
  if (dtype == DType::kUnknown) throw InternalError("a kernel on an unknown dtype");
  return kTypes.at(static_cast<std::size_t>(dtype) - 1);
}

}  // namespace amp
