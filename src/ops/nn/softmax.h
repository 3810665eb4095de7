// What softmax and its kin share.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/reduce/softmax.h"
#include "nnvm/ndarray.h"
#include "passes/gradient/gradient_rule.h"
#include "program/lower_context.h"

namespace amp {

// `lengths`, where not empty, has one entry for each line along the axis.
void SoftmaxReference(const NDArray& in, int axis, double temperature, const std::vector<std::int64_t>& lengths,
                      NDArray& out, bool logarithm = false);

// The gradient of the data of softmax, or of its logarithm: `gradient` is that of the output. `length`, where given,
// are the operator's lengths.
Term SoftmaxGradient(GradientContext& c, const Term& gradient, std::int64_t axis, double divisor, bool logarithm,
                     const std::optional<Term>& length = std::nullopt);

// Output 0 is the softmax of `data` along the axis: `job` says how, but for sizes and types. `lengths`, where given,
// are those of the reference kernel. False where the kernel lacks a dtype, or lengths of lines that do not lie in one
// piece.
bool LowerToSoftmax(LowerContext& c, kernels::Softmax job, int axis, ValueId data, ValueId lengths);

}  // namespace amp
