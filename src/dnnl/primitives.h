// From a step's description to an oneDNN primitive: which layouts it wants, and the primitive itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dnnl/engine.h"
#include "dnnl/step.h"

namespace amp::onednn {

struct PreparedPrimitive {
  dnnl::primitive_desc_base desc;
  std::vector<Desc> inputs;                  // the layouts that it reads ...
  std::vector<Desc> outputs;                 // ... and writes
  std::vector<int> input_args, output_args;  // DNNL_ARG_*
  Desc scratchpad;
  std::string implementation;
  bool can_run_in_place = false;  // output 0 may overwrite input 0
};

// Finds the primitive for a step whose inputs now lie in `layouts`; nullopt where the library has none for these types.
// Only for works that are primitives (not cast, reshape, permute, call).
std::optional<PreparedPrimitive> Prepare(const Step& step, const std::vector<TensorType>& in_types,
                                         const TensorType& out_type, const std::vector<Desc>& layouts);

std::optional<PreparedPrimitive> PrepareReorder(const Desc& from, const Desc& to);

dnnl::primitive BuildPrimitive(const PreparedPrimitive& prepared);

}  // namespace amp::onednn
