// The part of a plan that knows oneDNN. Included by compile.cc and session.cc only.
#pragma once

#include "dnnl/layouts.h"
#include "dnnl/plan.h"
#include "kernels/attention.h"
#include "kernels/scale_shift.h"

namespace amp::onednn {

// One step, ready to be bound to memory.
struct CompiledStep {
  dnnl::primitive primitive;                  // empty: an own kernel
  std::vector<std::pair<int, ValueId>> args;  // of the primitive
  int num_threads = 0;                        // that the primitive was made for, where these are not the plan's
  Work work;
  std::vector<ValueId> inputs, outputs;
  kernels::ScaleShift scale_shift = {};  // of ScaleShiftWork, without the numbers
  kernels::Attention attention = {};     // of AttentionWork
};

// Where the memory of a value is.
enum class Place : std::uint8_t { kArena, kConstant, kInput, kOutput };
struct Location {
  Place place = Place::kArena;
  std::size_t offset = 0;            // in the arena; or the number of the input or output
  std::shared_ptr<const void> data;  // of a constant
};

class CompiledPlan {
 public:
  std::vector<CompiledStep> steps;
  std::vector<TensorType> types;         // by value
  std::vector<Desc> layouts;             // by value; scratchpads included
  std::vector<std::size_t> first_bytes;  // by value: how far behind the beginning of its memory its elements begin
  std::vector<Location> locations;       // by value; meaningful for the values that steps mention
  std::size_t arena_bytes = 0;
  int num_threads = 1;
};

void RunOwnKernel(const CompiledStep& step, const CompiledPlan& plan, const std::vector<void*>& data);

}  // namespace amp::onednn
