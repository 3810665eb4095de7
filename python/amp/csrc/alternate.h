// What executors tell of the implementations that ran.
#pragma once

#include <vector>

#include "bindings.h"
#include "dnnl/plan.h"

namespace amp::python {

// {node: {"phase": "forward" or "backward", "native": runs, "f32": runs, "scaled": runs}}
py::dict CountsDict(const std::vector<AlternateCounts>& counts);
// {node: {"phase": ..., "runs": n, "operands": n, "results": n}}
py::dict FlushedDict(const std::vector<FlushedCounts>& counts);

}  // namespace amp::python
