// From what callers choose to what compilation is told.
#pragma once

#include <memory>

#include "dnnl/compile.h"
#include "runtime/bind_options.h"

namespace amp::onednn {

// For a plan of a model whose dtypes and kernels that machine decided; null: none did.
CompileOptions CompileOptionsFor(const BindOptions& options, const std::shared_ptr<const MachineTable>& machine);

}  // namespace amp::onednn
