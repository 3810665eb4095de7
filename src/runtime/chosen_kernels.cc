#include "runtime/chosen_kernels.h"

#include "nnvm/error.h"
#include "program/machine_table.h"
#include "program/threads.h"
#include "runtime/bind.h"
#include "runtime/executor_options.h"

namespace amp {

std::vector<LayerDecision> ChosenKernels(const Symbol& symbol, const ModelParams& params, const TypeMap& input_types,
                                         const BindOptions& options) {
  const ThreadScope threads(EffectiveThreads(options.num_threads));
  const onednn::GivenModel given = onednn::ConvertForRun(symbol, params, input_types, options);
  if (given.machine == nullptr) throw ArgumentError("machine: nothing is chosen for 'any'");
  const onednn::CompileOptions compile = onednn::CompileOptionsFor(options, given.machine);
  const onednn::BoundModel bound = onednn::BindModel(given, input_types, compile);
  return onednn::ChooseWithoutPlan(bound.prepared, compile, given.machine->capabilities(), bound.store.get());
}

}  // namespace amp
