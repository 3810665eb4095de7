// Which elements of an operand one sum of products reads.
#pragma once

#include <optional>

#include "dnnl/laid_out_program.h"
#include "kernels/reduce/denormal_scan.h"

namespace amp::onednn {

// The rows of an operand (0 or 1) of a step that sums products up. Where a window slides over the operand, a row is
// what every sum reads at least a part of, so that bounds of rows hold for sums. nullopt for packed layouts.
std::optional<kernels::RowScan> RowsOf(const Step& step, std::size_t operand, const Desc& layout,
                                       const StepTypes& types);

// At most so many products are in one sum.
double ProductsPerSum(const Step& step, const StepTypes& types);

}  // namespace amp::onednn
