// From a typed graph to a plan.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "dnnl/bind_options.h"
#include "dnnl/plan.h"
#include "nnvm/params_file.h"
#include "passes/infer.h"

namespace amp::onednn {

class ConstantStore;

struct CompileOptions {
  Backend backend = Backend::kOneDnn;
  int num_threads = 0;  // 0: kernels::DefaultThreads()
  NumericMode mode = NumericMode::kFast;
};

// A store that holds the parameters of a model, to be shared by all its plans.
std::shared_ptr<ConstantStore> NewConstantStore(const ModelParams& params);
std::set<std::string> ParameterNames(const ModelParams& params);

// `parameters` names the variables that the store holds. The store releases the original arrays once the plan works on
// packed forms. Throws UnsupportedError for operators without any kernel.
std::shared_ptr<const Plan> Compile(const Graph& graph, const Types& types, const std::set<std::string>& parameters,
                                    const CompileOptions& options, const std::shared_ptr<ConstantStore>& store);

}  // namespace amp::onednn
