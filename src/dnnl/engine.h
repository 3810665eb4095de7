// The oneDNN CPU engine of the process.
#pragma once

#include <dnnl.hpp>

namespace amp::onednn {

const dnnl::engine& CpuEngine();

}  // namespace amp::onednn
