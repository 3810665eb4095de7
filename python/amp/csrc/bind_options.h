// An executor's options as Python gives them.
#pragma once

#include "bindings.h"
#include "runtime/bind_options.h"

namespace amp::python {

// Keys, all optional: backend, reduce_precision (a dict of a conversion's options and "emulate"), num_threads, mode,
// monitor, machine, tune, forced_kernel, count_denormals. amp._options.executor has checked them.
BindOptions BindOptionsOf(const py::dict& given);

}  // namespace amp::python
