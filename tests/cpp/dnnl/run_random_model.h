// Random models (passes/random_models.h), and what passes made of them, run on the inputs of the random model.
#pragma once

#include <string>
#include <vector>

#include "dnnl/models.h"
#include "passes/random_models.h"

namespace amp::onednn::testing {

inline std::vector<NDArray> RunOnInputsOf(const amp::testing::RandomModel& model, Executor& executor) {
  std::vector<NDArray> inputs;
  for (const std::string& name : executor.input_names()) inputs.push_back(model.inputs.at(name));
  return executor.Run(inputs);
}

// Runs reference kernels. `symbol` and `params` are the model's own, or what was made of them.
inline std::vector<NDArray> RunReference(const Symbol& symbol, const ModelParams& params,
                                         const amp::testing::RandomModel& model) {
  Executor executor(symbol, params, model.input_types, On(Backend::kReference));
  return RunOnInputsOf(model, executor);
}

}  // namespace amp::onednn::testing
