#include "program/kernel_types.h"

#include "nnvm/error.h"

namespace amp {

kernels::ElementType KernelType(DType dtype) {
  using kernels::ElementType;
  switch (dtype) {
    case DType::kFloat32:
      return ElementType::kFloat32;
    case DType::kFloat64:
      return ElementType::kFloat64;
    case DType::kFloat16:
      return ElementType::kFloat16;
    case DType::kBFloat16:
      return ElementType::kBFloat16;
    case DType::kUInt8:
      return ElementType::kUInt8;
    case DType::kInt8:
      return ElementType::kInt8;
    case DType::kInt16:
      return ElementType::kInt16;
    case DType::kUInt16:
      return ElementType::kUInt16;
    case DType::kInt32:
      return ElementType::kInt32;
    case DType::kUInt32:
      return ElementType::kUInt32;
    case DType::kInt64:
      return ElementType::kInt64;
    case DType::kUInt64:
      return ElementType::kUInt64;
    case DType::kBool:
      return ElementType::kBool;
    case DType::kUnknown:
      break;
  }
  throw InternalError("a kernel on an unknown dtype");
}

kernels::RecurrentCell KernelCell(RecurrentCell cell) {
  switch (cell) {
    case RecurrentCell::kRelu:
      return kernels::RecurrentCell::kRelu;
    case RecurrentCell::kTanh:
      return kernels::RecurrentCell::kTanh;
    case RecurrentCell::kLstm:
      return kernels::RecurrentCell::kLstm;
    case RecurrentCell::kGru:
      break;
  }
  return kernels::RecurrentCell::kGru;
}

}  // namespace amp
