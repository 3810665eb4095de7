#include "dnnl/engine.h"

#include "dnnl/intercept_openmp.h"

namespace amp::onednn {

const dnnl::engine& CpuEngine() {
  static const bool uses_our_threads = InterceptOpenMp();
  static_cast<void>(uses_our_threads);
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::primitive_attr PlainAttributes() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attr.set_fpmath_mode(dnnl::fpmath_mode::strict);
  return attr;
}

}  // namespace amp::onednn
