// The part of a plan that knows oneDNN: steps that are ready to be bound to memory, and where the memory is.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dnnl/alternate_product.h"
#include "dnnl/laid_out_program.h"
#include "program/own_kernel.h"

namespace amp::onednn {

// A primitive or an own kernel, and the values that it works on.
struct CompiledStep {
  dnnl::primitive primitive;                  // empty: an own kernel
  std::vector<std::pair<int, ValueId>> args;  // of the primitive, scratch memory included
  int num_threads = 0;                        // that the primitive was made for, where these are not the plan's
  std::shared_ptr<const OwnKernel> kernel;
  std::string own_name;  // of the kernel
  std::vector<ValueId> inputs, outputs;
  std::optional<ValueId> scratch;
  NodeId node = 0;                                              // the graph node that it is part of
  Implementation implementation = Implementation::kF32;         // of a sum of products, unless `alternate` decides
  std::shared_ptr<const AlternateProduct> alternate = nullptr;  // looks at the operands of each run
  std::shared_ptr<const AlternateProduct> compared = nullptr;   // tells what each run loses
};

// Without scratch memory, which is a value of its own.
CompiledStep BuildStep(const Step& step, const std::optional<PreparedPrimitive>& prepared,
                       const LaidOutProgram& program);

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
  std::vector<Desc> layouts;                 // by value; scratch memory included
  std::vector<std::size_t> first_bytes;      // by value: how far behind the beginning of its memory its elements begin
  std::vector<Location> locations;           // by value; meaningful for the values that steps mention
  std::vector<HeldConstant> held;            // what it needs of the model's constants
  std::map<std::string, TensorType> folded;  // as in LaidOutProgram
  std::size_t arena_bytes = 0;
  std::size_t num_forward_steps = 0;  // the steps behind them are the backward half
  int num_threads = 1;
  bool keeps_denormals = false;  // some node of it may not lose them: runs clear flush-to-zero
};

// The first byte of each value, see CompiledPlan::first_bytes.
std::vector<std::size_t> FirstBytes(const LaidOutProgram& program);

}  // namespace amp::onednn
