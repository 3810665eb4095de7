#include "dnnl/engine.h"

#include "dnnl/intercept_openmp.h"
#include "nnvm/env.h"
#include "nnvm/error.h"

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

std::string NoteOfIgnoredVariables() {
  for (const char* name : {"ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_DEFAULT_FPMATH_MODE"}) {
    const std::string value = EnvValue(name, "");
    if (value.empty() || value == "STRICT" || value == "strict") continue;
    return fmt::format("{}={} has no effect: float32 is computed as float32 (convert the model to compute otherwise)",
                       name, Quotable(value));
  }
  return "";
}

}  // namespace amp::onednn
