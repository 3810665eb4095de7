// What callers choose when they bind a model.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "nnvm/params_file.h"
#include "passes/convert_symbol.h"
#include "passes/numeric_mode.h"
#include "program/backend.h"

namespace amp {

// Throws ArgumentError for anything but "onednn" and "reference".
Backend BackendFromName(const std::string& name);
// What AMP_BACKEND says.
Backend DefaultBackend();

struct ReduceOptions {
  DType target = DType::kBFloat16;
  // Convert even where the CPU has no arithmetic for the target; without it such a CPU gets the model as it is.
  bool emulate = false;
  // Everything else. Its target is the one above, and parameters are always cast once, at bind time.
  ConvertOptions conversion = {};
};

struct BindOptions {
  std::optional<Backend> backend;  // default: AMP_BACKEND
  int num_threads = 0;             // 0: kernels::DefaultThreads()
  // Convert to low precision before planning. Parameters are cast once, at bind time.
  std::optional<ReduceOptions> reduce_precision;
  NumericMode mode = NumericMode::kFast;
  // What FindMachine reads: which machine's times decide what runs in low precision. "any": dtypes are as they are
  // written, and policy default decides without times.
  std::string machine = "this";
  // Time the kernels that may compute the model's layers, and keep what is the fastest in the machine's file, from
  // which executors read it from then on. Takes some hundred runs. Needs mode fast and a machine that has a file.
  bool tune = false;
  // For measurements: this kernel (see program/layer_kernel.h) wherever it can compute a layer, and oneDNN
  // elsewhere. "": what pays on the machine.
  std::string forced_kernel = {};
  // Count what bfloat16 instructions make zero, see Session::TakeFlushedCounts: each product runs twice.
  bool count_denormals = false;
  // Reads the parameters again, as they are now. With it an executor keeps in memory what its steps read and nothing
  // else; Reshape may have to read them.
  std::function<ModelParams()> source = {};
  bool owns_parameters = false;  // the caller gives its arrays away: what needs no packing is not copied
  bool monitor = false;          // make RunMonitored possible: a second plan, with parameters of its own
};

}  // namespace amp
