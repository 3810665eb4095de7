// Which implementations the sums of products of a plan ran.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dnnl/alternate_product.h"
#include "dnnl/laid_out_program.h"
#include "dnnl/plan.h"
#include "nnvm/graph.h"
#include "passes/infer.h"

namespace amp::onednn {

// What a step of a sum of products multiplies, where the operands of a run do not decide: kNative where that is
// bfloat16, by instructions for it.
Implementation ImplementationOf(const Step& step, const StepTypes& types);

// The nodes that sum up products of bfloat16 operands, in graph order.
std::vector<ProductNode> ProductNodesOf(const Graph& graph, const Types& types, const LaidOutProgram& program);

// The number of runs of each implementation.
using RunCounts = std::array<std::int64_t, kNumImplementations>;
// The counts of nodes from those of steps. A node ran in another way than the native one if any of its steps did.
std::vector<AlternateCounts> CountsOf(const std::vector<ProductNode>& nodes, const std::vector<RunCounts>& steps);

}  // namespace amp::onednn
