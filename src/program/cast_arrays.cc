#include "program/cast_arrays.h"

#include "nnvm/error.h"
#include "program/kernel_types.h"

namespace amp {

NDArray CastArray(const NDArray& array, DType dtype) {
  if (array.dtype() == dtype) return array;
  NDArray cast(dtype, array.shape());
  kernels::Cast(KernelType(array.dtype()), array.data(), KernelType(dtype), cast.data(),
                static_cast<std::size_t>(array.size()));
  return cast;
}

void CastArrays(const std::map<std::string, DType>& casts, ModelParams* params) {
  for (const auto& [name, dtype] : casts) {
    NDArrayMap& arrays = params->args.contains(name) ? params->args : params->aux;
    const auto found = arrays.find(name);
    if (found == arrays.end()) Throw<ArgumentError>("there is no array for the parameter '{}'", name);
    const NDArray given = found->second;
    found->second = CastArray(given, dtype);
    if (given.dtype() != dtype) given.LeavePages();  // which the caller still has
  }
}

}  // namespace amp
