// A function of two straight lines; see winograd_code.h and gemm_code.h for what `Ops` is.
#pragma once

namespace amp::kernels {

// x > 0 ? x : slope * x, rounded once. A NaN stays one.
template <class Ops>  // for internal linkage
[[gnu::always_inline]] inline typename Ops::Vector LeakyRelu(const typename Ops::Vector& x,
                                                             const typename Ops::Vector& slope) {
  const float infinity = __builtin_inff();
  return Ops::MultiplyAdd(Ops::Clip(x, -infinity, 0), slope, Ops::Clip(x, 0, infinity));
}

}  // namespace amp::kernels
