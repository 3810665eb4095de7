// The oneDNN CPU engine of the process.
#pragma once

#include <dnnl.hpp>
#include <string>

namespace amp::onednn {

const dnnl::engine& CpuEngine();

// What every primitive begins with: scratch memory is ours, and float32 is computed as float32 whatever the variable
// ONEDNN_DEFAULT_FPMATH_MODE says.
dnnl::primitive_attr PlainAttributes();
// A sentence for the user where that variable asks for something else, else "".
std::string NoteOfIgnoredVariables();

}  // namespace amp::onednn
