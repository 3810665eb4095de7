// A primitive of oneDNN that has been chosen for a step, and how it wants its operands.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dnnl/memory_desc.h"

namespace amp::onednn {

inline constexpr int kNoArgument = 0;

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

  // oneDNN's obvious loops, which are there for completeness.
  bool is_reference() const { return implementation.find("ref") != std::string::npos; }
};

// nullopt where oneDNN cannot reorder from one to the other.
std::optional<PreparedPrimitive> PrepareReorder(const Desc& from, const Desc& to);

// Uses the thread count that it was prepared for: oneDNN's cache goes by that of now, and would else hand out a
// primitive of another plan, which needs more scratch memory than the description says.
dnnl::primitive BuildPrimitive(const PreparedPrimitive& prepared);

}  // namespace amp::onednn
