// Steps as maps (see kernels/elementwise/map.h), and two maps as one.
#pragma once

#include <optional>
#include <vector>

#include "passes/numeric_mode.h"
#include "program/step.h"

namespace amp {

kernels::MapOp MapOpOf(BinaryKind kind);

// The `beta` of a relu, which has no use for it: NaN stays NaN where the relu is a step of its own. As in MXNet this is
// what operator `relu` does, and layers give 0.
inline constexpr float kReluKeepsNaN = 1;

// Whether a map can read or write tensors of this dtype: float32, bfloat16, small integers and truth values.
bool IsMapOperand(DType dtype);
bool IsMapResult(DType dtype);

// The step as a map: elementwise work with its post-ops, or a cast between float32 and bfloat16. nullopt where maps
// lack an operation or a dtype, and in mode `exact` where their bits are not those of the step.
std::optional<Step> AsMap(const Step& step, const Program& program, NumericMode mode);

// The functions one after the other, of register 0, in mode `fast`; nullopt where maps lack one, or there are too many.
std::optional<std::vector<kernels::MapStep>> MapStepsOf(const std::vector<EltwiseSpec>& functions);

// `reader`, which reads the result of `producer` only as it is and in its own shape, with the producer's work in it. In
// mode `exact` the result is rounded in between as memory would. nullopt where that is too much for one map.
std::optional<Step> MergeMaps(const Step& producer, const Step& reader, const Program& program, NumericMode mode);

}  // namespace amp
