// The oneDNN CPU engine of the process.
#pragma once

#include <dnnl.hpp>

namespace amp::onednn {

const dnnl::engine& CpuEngine();

// What every primitive begins with: scratch memory is ours, and float32 is computed as float32 whatever the variable
// ONEDNN_DEFAULT_FPMATH_MODE says.
dnnl::primitive_attr PlainAttributes();

}  // namespace amp::onednn
