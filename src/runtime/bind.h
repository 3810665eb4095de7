// From a model and what a caller chose to a plan, in three steps: convert, prepare (once per model), and plan (once per
// set of shapes).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dnnl/compile.h"
#include "nnvm/borrowed_memory.h"
#include "nnvm/symbol.h"
#include "runtime/bind_options.h"

namespace amp::onednn {

// A model before it is bound. `notice` is a sentence for the user where it is not what was asked for, else "".
struct GivenModel {
  Symbol symbol;
  ModelParams params;
  std::string notice;
  std::shared_ptr<const MachineTable> machine = nullptr;  // whose times decide; null: dtypes are as they are written
  Symbol as_converted = {};                               // before the machine took low precision back
  std::optional<BorrowedMemory> borrowed = {};            // which of the arrays others may change; nullopt: all
};

// Converts to low precision, if the options ask for that and the CPU gains from it. Opens fused nodes.
// `differentiated`: the model will be trained, for the gradients of these variables.
GivenModel ConvertForRun(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                         const BindOptions& options, const std::optional<std::set<std::string>>& differentiated = {});

// What plans of one model, for all its shapes, are made of. The arrays are in the store.
struct BoundModel {
  Symbol symbol;
  Model given;     // the symbol's graph
  Model prepared;  // the same, or what PrepareModel made of it
  CompileOptions options;
  bool is_optimized = false;
  bool assumes_ranks = false;  // see Preparation
  std::shared_ptr<ConstantStore> store = nullptr;
  ConstantSource constants_again = nullptr;  // of what the store has released
};

// Throws ArgumentError that lists the variables without an array or a type.
BoundModel BindModel(const GivenModel& model, const TypeMap& input_types, const CompileOptions& options);
// Binds the model with the outputs of every operator, in graph order, before its own: nothing can be fused or left out.
// The values are those of each node alone.
BoundModel BindMonitoredModel(const GivenModel& model, const TypeMap& input_types, const CompileOptions& options);

// Binds the model for other input shapes; names left out keep theirs. Throws ArgumentError for names that are no inputs
// (`input_names` are the ones to suggest) and UnsupportedError for a rank that the prepared model is not made for.
BoundModel WithShapes(const BoundModel& model, const std::map<std::string, Shape>& input_shapes,
                      const std::vector<std::string>& input_names);

std::shared_ptr<const Plan> MakePlan(const BoundModel& model);

// The visible outputs of all operators that a run needs, in graph order.
std::vector<NodeEntry> OperatorOutputs(const Graph& graph);
// Variables that a run does not read (labels).
std::vector<std::string> IgnoredVariables(const Graph& graph);

}  // namespace amp::onednn
