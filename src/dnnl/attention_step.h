// AttentionWork as a job of our kernel on strided memory.
#pragma once

#include "dnnl/compiled_plan.h"

namespace amp::onednn {

// The kernel reads memory in any order of axes, as long as the elements of a row lie side by side.
bool HasDenseRows(const Desc& layout);

// Everything but where the memory is. `step` has been laid out.
kernels::Attention AttentionOf(const AttentionWork& work, const std::vector<ValueId>& inputs, ValueId output,
                               const CompiledPlan& plan);

// data: by value, where its memory begins. The step's only argument, where it has one, is its scratch memory.
void RunAttention(const CompiledStep& step, const CompiledPlan& plan, const std::vector<void*>& data);

}  // namespace amp::onednn
