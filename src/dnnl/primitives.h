// From a step's description to an oneDNN primitive: which layouts it wants, and the primitive itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dnnl/engine.h"
#include "program/step.h"

namespace amp::onednn {

struct PreparedPrimitive {
  dnnl::primitive_desc_base desc;
  std::vector<Desc> inputs;                  // the layouts that it reads ...
  std::vector<Desc> outputs;                 // ... and writes
  std::vector<int> input_args, output_args;  // DNNL_ARG_*
  Desc scratchpad;
  std::string implementation;
  bool can_run_in_place = false;  // output 0 may overwrite input 0
  int num_threads = 0;            // for which it was made; 0: as many as its plan
  // The input to which the primitive adds: it must lie where output 0 is to be written. Its argument is kNoArgument.
  std::optional<std::size_t> sum_input;
};
inline constexpr int kNoArgument = 0;

// Finds the primitive for a step whose inputs now lie in `layouts`; nullopt where the library has none for these types
// and post-ops. Only for works that are primitives (not cast, scale_shift, reshape, permute, call). Works that choose
// their layouts (see ChoosesLayouts) look at none, but write `out_layout` where one is given.
std::optional<PreparedPrimitive> Prepare(const Step& step, const std::vector<TensorType>& in_types,
                                         const TensorType& out_type, const std::vector<Desc>& layouts,
                                         const Desc& out_layout = Desc());

// Sums of products: convolution, deconvolution, inner product, matrix product.
bool ChoosesLayouts(const Work& work);

std::optional<PreparedPrimitive> PrepareReorder(const Desc& from, const Desc& to);

dnnl::primitive BuildPrimitive(const PreparedPrimitive& prepared);

}  // namespace amp::onednn
