#include "ops/elementwise/functions_of_two.h"

#include <type_traits>
#include <vector>

#include "ops/common/broadcast.h"
#include "ops/common/numeric.h"

namespace amp {

InputSensitivity SensitivityOf(const FunctionOfTwo& function) {
  return {[&function](const Node&, std::size_t slot) {
    return slot == 0 ? function.sensitivity_to_first : function.sensitivity_to_second;
  }};
}

void ComputeBroadcast(const FunctionOfTwo& function, DType dtype, std::span<const NDArray> in, NDArray& out) {
  WithNumberType(dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::vector<T> a = Numbers<T>(in[0]), b = Numbers<T>(in[1]);
    std::vector<T> y(out.size());
    BroadcastIndex ia(in[0].shape(), out.shape()), ib(in[1].shape(), out.shape());
    for (T& value : y) {
      const T left = a[ia.Next()], right = b[ib.Next()];
      if constexpr (std::is_integral_v<T>) {
        value = function.integer(left, right);
      } else {
        value = static_cast<T>(function.real(static_cast<double>(left), static_cast<double>(right)));
      }
    }
    Store(y, out);
  });
}

}  // namespace amp
